// Who may ask: users, named tokens, and what admins tell everybody.
#include <fmt/format.h>

#include <algorithm>

#include "controller/api.h"
#include "controller/people_answers.h"
#include "controller/requests.h"
#include "controller/views.h"
#include "wire/job_spec.h"
#include "wire/json.h"
#include "wire/json_text.h"

namespace sl::controller {
namespace {

Error nobody_listens() {
  return conflict("not-running", "users, tokens and announcements are kept by a running controller");
}

Result<Role> read_role(const std::string& text) {
  if (const auto role = role_of_name(text); role && *role != Role::agent) return *role;
  return invalid("bad-role", fmt::format("a role is {}, not {}", role_names, text)).at("/role");
}

answers::User user_view(const store::UserRow& row, const People& people) {
  return {row.name, row.role, {row.made_us}, row.by, static_cast<std::int64_t>(people.tokens(row.name).size())};
}

answers::Token token_view(const store::TokenRow& row, const People& people, Instant now) {
  return {row.id,
          row.name,
          row.user,
          std::string(name_of(people.role_of(row))),
          {row.made_us},
          answers::time_unless_zero(row.expires_us),
          answers::time_unless_zero(row.used_us),
          row.by,
          row.expires_us != 0 && row.expires_us <= now.us};
}

answers::Announcement announcement_view(const store::AnnouncementRow& row) {
  return {row.id, row.text, row.by, {row.made_us}, answers::time_unless_zero(row.until_us)};
}

template <typename Body>
Result<Body> read_body(const net::Request& request) {
  return wire::read_json<Body>(request.body);
}

}  // namespace

// What is done to users and tokens is an event, without a secret. The answer waits for it.
void Api::send_noted(const Call& call, const char* kind, std::string text, const net::Response& response) {
  logic_.note(
      {{.at_us = clock_().us, .kind = kind, .actor_type = "user", .actor_name = call.user(), .text = std::move(text)}},
      clock_(), [call, response](const Status&) { call.reply->send(response); });
}

// ---- users ----

void Api::list_users(Call call) {
  if (!people_) return call.fail(nobody_listens());
  std::vector<std::string> texts;
  for (const store::UserRow& row : people_->users())
    texts.push_back(wire::json_text(wire::to_value(user_view(row, *people_))));
  send_list(call, {.count = texts.size(), .text_of = [texts](std::size_t i) { return texts[i]; }});
}

void Api::create_user(Call call) {
  if (const Status json = expect_json(call, "a user"); !json.ok()) return call.fail(json.error());
  const auto body = read_body<UserBody>(call.request);
  if (!body.ok()) return call.fail(body.error());
  set_user(call, body->name, body->role.value_or("user"), true);
}

void Api::edit_user(Call call) {
  if (const Status json = expect_json(call, "a change of a user"); !json.ok()) return call.fail(json.error());
  const auto body = read_body<RoleBody>(call.request);
  if (!body.ok()) return call.fail(body.error());
  set_user(call, call.captured.front(), body->role, false);
}

void Api::set_user(const Call& call, const std::string& name, const std::string& role_text, bool is_new) {
  if (!people_) return call.fail(nobody_listens());
  const auto role = read_role(role_text);
  if (!role.ok()) return call.fail(role.error());
  people_->set_user(name, *role, is_new, call.user(), [this, call, name, is_new](const Status& status) {
    if (!status.ok()) return call.fail(status.error());
    const auto users = people_->users();
    const auto row = std::ranges::find(users, name, &store::UserRow::name);
    if (row == users.end()) return call.fail(no_such_user(name));
    const auto answer = [this, call, is_new, role = row->role,
                         response = json_response(is_new ? 201 : 200, wire::to_value(user_view(*row, *people_))),
                         name](const Status& channels) {
      if (!channels.ok()) return call.fail(channels.error());
      send_noted(call, is_new ? "user.added" : "user.changed", fmt::format("{} has the role {}", name, role), response);
    };
    const bool is_admin = people_->role_of(name) == Role::admin;
    is_admin || !notifications_ ? answer({}) : notifications_->make_private(name, answer);
  });
}

void Api::remove_user(Call call) {
  if (!people_ || !secrets_ || !notifications_) return call.fail(nobody_listens());
  const std::string name = call.captured.front();
  people_->remove_user(name, [this, call, name](const Status& status) {
    status.ok() ? remove_belongings_of(name, call) : call.fail(status.error());
  });
}

// Whoever has that name later may be somebody else.
void Api::remove_belongings_of(const std::string& name, const Call& call) {
  notifications_->remove_all(name, [this, call, name](const Status& channels) {
    history_.ask<bool>(
        [secrets = secrets_, name](store::Reader&) -> Result<bool> {
          const Status removed = secrets->remove_all(name);
          return removed.ok() ? Result<bool>(true) : Result<bool>(removed.error());
        },
        [this, call, name, channels](const Result<bool>& secrets) {
          if (!channels.ok()) return call.fail(channels.error());
          if (!secrets.ok()) return call.fail(secrets.error());
          send_noted(call, "user.removed", name + " is removed, with all tokens, secrets and channels",
                     json_response(200, wire::to_value(answers::RemovedUser{name})));
        });
  });
}

// ---- tokens ----

void Api::list_tokens(Call call) {
  if (!people_) return call.fail(nobody_listens());
  const std::string wanted = call.request.parameter("user").value_or("");
  if (!wanted.empty() && !call.identity.may_see(wanted))
    return call.fail(denied("not-your-name", "the tokens of " + wanted + " are shown to that user and to admins"));
  std::vector<std::string> texts;
  for (const store::TokenRow& row : people_->tokens(call.identity.is_admin() ? wanted : call.user()))
    texts.push_back(wire::json_text(wire::to_value(token_view(row, *people_, call.now))));
  send_list(call, {.count = texts.size(), .text_of = [texts](std::size_t i) { return texts[i]; }});
}

void Api::create_token(Call call) {
  if (!people_) return call.fail(nobody_listens());
  if (const Status json = expect_json(call, "a token"); !json.ok()) return call.fail(json.error());
  const auto body = read_body<TokenBody>(call.request);
  if (!body.ok()) return call.fail(body.error());
  NewToken wanted{.user = body->user.value_or(call.user()), .name = body->name};
  if (const Status may = may_act_for(call.identity, wanted.user); !may.ok()) return call.fail(may.error());
  if (body->role) {
    const auto role = read_role(*body->role);
    if (!role.ok()) return call.fail(role.error());
    wanted.role = *role;
  }
  const auto expires = expiry_of_token(body->expires_in_s, call.now);
  if (!expires.ok()) return call.fail(expires.error());
  wanted.expires = *expires;
  people_->add_token(wanted, call.identity, [this, call](const Result<People::Made>& made) {
    if (!made.ok()) return call.fail(made.error());
    const store::TokenRow& row = made->row;
    net::Response response =
        json_response(201, wire::to_value(answers::NewToken{token_view(row, *people_, call.now), made->secret}));
    response.headers.emplace_back("Cache-Control", "no-store");
    send_noted(call, "token.added", fmt::format("{} has a token {}", row.user, row.name), response);
  });
}

void Api::remove_token(Call call) {
  if (!people_) return call.fail(nobody_listens());
  const auto row = people_->find_token(call.captured.front());
  if (row && !call.identity.may_see(row->user))
    return call.fail(
        denied("not-your-name", "the token is " + row->user + "'s, and only that user and admins revoke it"));
  people_->remove_token(call.captured.front(), [this, call, row](const Status& status) {
    if (!status.ok()) return call.fail(status.error());
    send_noted(call, "token.revoked", fmt::format("the token {} of {} is revoked", row->name, row->user),
               json_response(200, wire::to_value(answers::RemovedToken{row->id})));
  });
}

// ---- streams end with what they rest on ----

void Api::end_revoked(Instant now) {
  constexpr Duration check_every = Duration::milliseconds(500);
  if (!people_ || (revoked_checked_.happened() && now < revoked_checked_ + check_every)) return;
  revoked_checked_ = now;
  std::erase_if(opened_, [&](const Opened& each) {
    const auto stream = each.stream.lock();
    if (!stream || stream->closed()) return true;
    if (people_->confirm(each.identity) && !sessions_.has_ended(each.identity)) return false;
    if (each.is_events)
      stream->write(
          "event: closed\ndata: {\"reason\": \"what this was asked with has been revoked or has expired\"}\n\n");
    stream->close();
    return true;
  });
}

void Api::end_with_identity(const Call& call, const std::shared_ptr<net::Stream>& stream, bool is_events) {
  opened_.push_back({call.identity, stream, is_events});
}

// ---- announcements ----

void Api::list_announcements(Call call) {
  if (!announcements_) return call.fail(nobody_listens());
  std::vector<std::string> texts;
  for (const store::AnnouncementRow& row : announcements_->current(call.now))
    texts.push_back(wire::json_text(wire::to_value(announcement_view(row))));
  send_list(call, {.count = texts.size(), .text_of = [texts](std::size_t i) { return texts[i]; }});
}

void Api::post_announcement(Call call) {
  if (!announcements_) return call.fail(nobody_listens());
  if (const Status json = expect_json(call, "an announcement"); !json.ok()) return call.fail(json.error());
  const auto body = read_body<AnnouncementBody>(call.request);
  if (!body.ok()) return call.fail(body.error());
  Instant until = Instant::never();
  if (body->until) {
    const auto us = wire::parse_time_us(*body->until);
    if (!us.ok()) return call.fail(invalid("bad-time", "not a time: " + *body->until).at("/until"));
    until = {*us};
  }
  announcements_->post(
      body->text, until, call.user(), call.now, [this, call](const Result<store::AnnouncementRow>& row) {
        if (!row.ok()) return call.fail(row.error());
        send_noted(call, "announcement", row->text, json_response(201, wire::to_value(announcement_view(*row))));
      });
}

void Api::remove_announcement(Call call) {
  if (!announcements_) return call.fail(nobody_listens());
  announcements_->remove(call.captured.front(), call.now, [this, call](const Status& status) {
    if (!status.ok()) return call.fail(status.error());
    send_noted(call, "announcement.removed", "an announcement is taken back",
               json_response(200, wire::to_value(answers::RemovedAnnouncement{call.captured.front()})));
  });
}

}  // namespace sl::controller
