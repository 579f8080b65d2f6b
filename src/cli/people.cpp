#include "cli/people.h"

#include <unistd.h>

#include <cstdio>

#include "cli/render.h"
#include "cli/starting.h"
#include "cli/usage.h"
#include "net/http.h"
#include "wire/job_spec.h"
#include "wire/json_text.h"

namespace sl::cli {
namespace {

const std::vector<std::string> roles = {"viewer", "user", "admin"};

std::string path_of(const char* what, const std::string& name) {
  return std::string("/api/v1/") + what + "/" + net::percent_encode(name);
}

int list_users(const Context& context) {
  const auto users = context.get("/api/v1/users");
  if (!users.ok()) return fail(users.error());
  if (context.as_json) return context.print_json(*users), 0;
  Table table({"USER", "ROLE", "SINCE", "BY", "TOKENS"}, {4});
  for (const json::value& item : value_at(*users, "items").as_array())
    table.add({text_at(item, "name"), text_at(item, "role"), clock_text(context, text_at(item, "since")),
               text_at(item, "by"), std::to_string(static_cast<std::int64_t>(number_at(item, "tokens")))});
  if (table.empty()) return say_none(context, "No users; add one: schedulearn user add mei"), 0;
  std::fputs(table.text(context).c_str(), stdout);
  return 0;
}

std::string time_or(const Context& context, const json::value& item, const char* key, const char* otherwise) {
  const std::string time = text_at(item, key);
  return time.empty() ? otherwise : clock_text(context, time);
}

int list_tokens(const Context& context, const std::string& user) {
  const auto tokens = context.get("/api/v1/tokens" + (user.empty() ? "" : "?user=" + net::percent_encode(user)));
  if (!tokens.ok()) return fail(tokens.error());
  if (context.as_json) return context.print_json(*tokens), 0;
  Table table({"TOKEN", "USER", "ROLE", "MADE", "USED", "EXPIRES"});
  for (const json::value& item : value_at(*tokens, "items").as_array())
    table.add({text_at(item, "name"), text_at(item, "user"), text_at(item, "role"),
               clock_text(context, text_at(item, "made_at")), time_or(context, item, "used_at", "never"),
               value_at(item, "expired") == true ? "has expired" : time_or(context, item, "expires_at", "never")});
  if (table.empty()) return say_none(context, "No tokens; make one: schedulearn token add laptop"), 0;
  std::fputs(table.text(context).c_str(), stdout);
  return 0;
}

// Says how a change went: its document, or a sentence.
int told(const Context& context, const Result<json::value>& answer, const std::string& sentence) {
  if (!answer.ok()) return fail(answer.error());
  if (context.as_json) return context.print_json(*answer), 0;
  if (!context.quiet) std::printf("%s\n", sentence.c_str());
  return 0;
}

}  // namespace

void PeopleCommands::add_to(CLI::App& app) {
  add_users(app);
  add_tokens(app);
  add_announcements(app);
}

// ---- users ----

void PeopleCommands::add_users(CLI::App& app) {
  CLI::App* user = app.add_subcommand("user", "Who may ask this controller, and what for: ls, add, set, rm.");
  user->require_subcommand(1);
  user->fallthrough();
  command_(*user, "ls", "Users with their roles. Root and the controller's own user are admins without being listed.",
           "  schedulearn user ls\n", [this] { return list_users(context_()); });
  CLI::App* add = command_(
      *user, "add", "Add a user: viewer (sees everything, changes nothing), user (has jobs) or admin.",
      "  schedulearn user add mei\n  schedulearn user add bella --role admin\n", [this] { return add_user(); });
  CLI::App* set = command_(*user, "set", "Give a user another role; it counts at once, also for sessions and tokens.",
                           "  schedulearn user set mei --role viewer\n", [this] { return set_user(); });
  CLI::App* remove = command_(*user, "rm", "Remove a user, with all tokens, secrets and channels of that user.",
                              "  schedulearn user rm mei\n", [this] { return remove_user(); });
  for (CLI::App* each : {add, set, remove})
    each->add_option("name", name_, "letters, digits and . _ - @ +")->required();
  add->add_option("--role", role_, "viewer, user or admin (user)")->check(one_of(roles));
  set->add_option("--role", role_, "viewer, user or admin")->check(one_of(roles))->required();
}

int PeopleCommands::add_user() const {
  json::object body{{"name", name_}};
  if (!role_.empty()) body["role"] = role_;
  const Context context = context_();
  const auto added = context.call("POST", "/api/v1/users", wire::json_text(body));
  return told(context, added,
              added.ok() ? name_ + " has the role " + text_at(*added, "role") + ". A token for " + name_ +
                               ":  schedulearn token add laptop --user " + name_
                         : "");
}

int PeopleCommands::set_user() const {
  const Context context = context_();
  return told(context, context.call("PATCH", path_of("users", name_), wire::json_text(json::object{{"role", role_}})),
              name_ + " has the role " + role_ + " from now on.");
}

int PeopleCommands::remove_user() const {
  const Context context = context_();
  std::string servers;
  const auto tokens = context.get("/api/v1/tokens?user=" + net::percent_encode(name_));
  for (const json::value& item : tokens.ok() ? value_at(*tokens, "items").as_array() : json::array()) {
    if (text_at(item, "role") == "agent") servers += (servers.empty() ? "" : ", ") + text_at(item, "name");
  }
  const auto sure = confirm(context,
                            "remove the user " + name_ + " and revoke all tokens of that user" +
                                (servers.empty() ? "" : ", also those made for the servers " + servers),
                            true);
  if (!sure.ok()) return fail(sure.error());
  if (!*sure) return 1;
  return told(context, context.call("DELETE", path_of("users", name_), ""),
              name_ + " is removed; no token of that user is valid.");
}

// ---- tokens ----

void PeopleCommands::add_tokens(CLI::App& app) {
  CLI::App* token = app.add_subcommand("token", "Named tokens, with which one asks from anywhere: ls, add, rm.");
  token->require_subcommand(1);
  token->fallthrough();
  CLI::App* list = command_(*token, "ls", "Your tokens, for admins those of all users.", "  schedulearn token ls\n",
                            [this] { return list_tokens(context_(), user_); });
  CLI::App* add = command_(*token, "add", "Make a token and print its secret, which is not shown again.",
                           "  schedulearn token add laptop\n  schedulearn token add ci --expires 90d > ci.token\n"
                           "  schedulearn token add screen --user mei --role viewer\n",
                           [this] { return add_token(); });
  CLI::App* remove = command_(*token, "rm", "Revoke a token; sessions and streams that rest on it end.",
                              "  schedulearn token rm laptop\n  schedulearn token rm ci --user mei\n",
                              [this] { return remove_token(); });
  for (CLI::App* each : {add, remove}) each->add_option("name", name_, "letters, digits and . _ -")->required();
  list->add_option("--user", user_, "only those of this user");
  add->add_option("--user", user_, "whose token it is (default: you); only admins name another");
  remove->add_option("--user", user_, "whose token it is (default: you)");
  add->add_option("--role", role_, "it allows at most this: viewer, user or admin (default: what its user may)")
      ->check(one_of(roles));
  add->add_option("--expires", expires_, "how long it is valid: 12h, 90d (default: until it is revoked)");
}

int PeopleCommands::add_token() const {
  json::object body{{"name", name_}};
  if (!user_.empty()) body["user"] = user_;
  if (!role_.empty()) body["role"] = role_;
  if (!expires_.empty()) {
    const auto seconds = wire::parse_duration_s(expires_);
    if (!seconds.ok()) return fail(seconds.error());
    body["expires_in_s"] = static_cast<std::int64_t>(*seconds);
  }
  const Context context = context_();
  const auto made = context.call("POST", "/api/v1/tokens", wire::json_text(body));
  if (!made.ok()) return fail(made.error());
  if (context.as_json) return context.print_json(*made), 0;
  std::printf("%s\n", text_at(*made, "token").c_str());
  if (context.quiet) return 0;
  std::fflush(stdout);
  const std::string user = text_at(*made, "user");
  std::fprintf(stderr, "This is the token %s of %s (%s), valid %s. It is not shown again; keep it like a password.\n",
               name_.c_str(), user.c_str(), text_at(*made, "role").c_str(),
               value_at(*made, "expires_at").is_null() ? "until it is revoked"
                                                       : ("until " + clock_text(text_at(*made, "expires_at"))).c_str());
  std::fprintf(stderr, "  on another machine:  schedulearn login URL\n");
  return 0;
}

int PeopleCommands::remove_token() const {
  const Context context = context_();
  std::string user = user_;
  if (user.empty()) {
    const auto self = context.get("/api/v1/whoami");
    if (!self.ok()) return fail(self.error());
    user = text_at(*self, "user");
  }
  const auto tokens = context.get("/api/v1/tokens?user=" + net::percent_encode(user));
  if (!tokens.ok()) return fail(tokens.error());
  for (const json::value& item : value_at(*tokens, "items").as_array()) {
    if (text_at(item, "name") != name_ && text_at(item, "id") != name_) continue;
    return told(context, context.call("DELETE", path_of("tokens", text_at(item, "id")), ""),
                "the token " + text_at(item, "name") + " of " + user + " is revoked.");
  }
  Error none = not_found("token-not-found", user + " has no token " + name_).hint("schedulearn token ls");
  const auto all = context.get("/api/v1/tokens");
  for (const json::value& item : all.ok() ? value_at(*all, "items").as_array() : json::array()) {
    const std::string owner = text_at(item, "user");
    if (text_at(item, "name") == name_ && owner != user)
      none.hints.push_back("that of " + owner + ": schedulearn token rm " + name_ + " --user " + owner);
  }
  return fail(none);
}

// ---- announcements ----

namespace {

Result<json::value> announcements(const Context& context) { return context.get("/api/v1/announcements"); }

std::string line_of(const json::value& item) {
  const std::string until = text_at(item, "until");
  return text_at(item, "text") + " (" + text_at(item, "by") + ", " + clock_text(text_at(item, "made_at")) +
         (until.empty() ? ")" : ", until " + clock_text(until) + ")");
}

int list_announcements(const Context& context) {
  const auto all = announcements(context);
  if (!all.ok()) return fail(all.error());
  if (context.as_json) return context.print_json(*all), 0;
  const json::array& items = value_at(*all, "items").as_array();
  if (items.empty()) return say_none(context, "Nothing is announced."), 0;
  for (const json::value& item : items) std::printf("%s\n", line_of(item).c_str());
  return 0;
}

int clear_announcements(const Context& context) {
  const auto all = announcements(context);
  if (!all.ok()) return fail(all.error());
  json::array removed;
  for (const json::value& item : value_at(*all, "items").as_array()) {
    const auto done = context.call("DELETE", path_of("announcements", text_at(item, "id")), "");
    if (!done.ok()) return fail(done.error());
    removed.push_back(*done);
  }
  if (context.as_json) return context.print_json(list_of(std::move(removed))), 0;
  if (!context.quiet) std::printf("Nothing is announced any more.\n");
  return 0;
}

}  // namespace

void print_announcements(const Context& context) {
  if (context.columns == 0 || context.as_json || context.plain || context.quiet || context.past) return;
  const auto all = announcements(context);
  if (!all.ok()) return;  // what was asked for has been answered
  for (const json::value& item : value_at(*all, "items").as_array())
    std::fprintf(stderr, "%s %s\n", context.unicode ? "\u2691" : "!", line_of(item).c_str());
}

void PeopleCommands::add_announcements(CLI::App& app) {
  CLI::App* announce =
      command_(app, "announce", "Tell everybody who uses this controller something, or what is announced.",
               "  schedulearn announce \"gpu3 is down on Friday\" --until 2d\n  schedulearn announce\n"
               "  schedulearn announce --clear\n",
               [this] { return this->announce(); });
  announce->add_option("text", text_, "one line");
  CLI::Option* until = announce->add_option("--until", until_, "when it disappears: 18:00, 2d, 2026-11-23T21:00:00Z");
  announce->add_flag("--clear", clear_, "take back all that is announced")->excludes(until);
}

int PeopleCommands::announce() const {
  const Context context = context_();
  if (clear_ && !text_.empty())
    return fail(invalid("bad-flag", "--clear takes back, and posts nothing").hint("schedulearn announce --clear"));
  if (clear_) return clear_announcements(context);
  if (text_.empty()) return list_announcements(context);
  json::object body{{"text", text_}};
  if (!until_.empty()) {
    const auto us = time_meant(until_, clock_us());
    if (!us.ok()) return fail(us.error());
    body["until"] = wire::time_text(*us);
  }
  return told(context, context.call("POST", "/api/v1/announcements", wire::json_text(body)),
              "Everybody is told from now on. Take it back:  schedulearn announce --clear");
}

}  // namespace sl::cli
