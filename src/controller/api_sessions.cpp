// Who one is, and signing in with a browser.
#include <fmt/format.h>

#include "controller/api.h"
#include "controller/people_answers.h"
#include "controller/views.h"

namespace sl::controller {

answers::Me Api::identity_view(const Identity& identity) const {
  constexpr std::string_view named = "token:";
  const auto token = people_ && identity.basis.starts_with(named)
                         ? people_->find_token(identity.basis.substr(named.size()))
                         : std::nullopt;
  return {identity.user, std::string(name_of(identity.role)), token ? std::optional(token->name) : std::nullopt};
}

void Api::who_am_i(Call call) { call.send(200, identity_view(call.identity)); }

// Whoever may ask may also sign in. A code that came with the request is used up.
void Api::begin_session(Call call) {
  const bool has_code = call.request.header("x-schedulearn-code").has_value();
  if (has_code && !sessions_.spend_code(call.request))
    return call.fail(denied("code-used", "this link has signed in a browser before").hint("schedulearn web --link"));
  sessions_.end(call.request);  // that of whoever used the browser before
  const auto session = sessions_.begin(call.identity);
  if (!session.ok()) return call.fail(session.error());
  net::Response response = json_response(
      201, wire::to_value(answers::Session{identity_view(call.identity), session->key, {session->expires.us}}));
  response.headers.emplace_back("Set-Cookie", session->cookie);
  response.headers.emplace_back("Cache-Control", "no-store");
  call.reply->send(std::move(response));
}

void Api::end_session(Call call) {
  net::Response response = json_response(200, wire::to_value(answers::SignedOut()));
  response.headers.emplace_back("Set-Cookie", sessions_.end(call.request));
  call.reply->send(std::move(response));
}

void Api::make_link(Call call) {
  Identity identity = call.identity;
  if (identity.acts_for_other) {  // that user's rights are handed on, as long as those of who does so hold
    const auto follower =
        people_ ? people_->follower_of_link(identity.user, identity.basis) : no_such_user(identity.user);
    if (!follower.ok()) return call.fail(follower.error());
    identity = *follower;
  }
  const auto code = sessions_.make_code(identity);
  if (!code.ok()) return call.fail(code.error());
  const answers::Link link{code->text, "#sign-in=" + code->text, {code->expires.us}};
  net::Response response = json_response(201, wire::to_value(link));
  response.headers.emplace_back("Cache-Control", "no-store");
  call.reply->send(std::move(response));
}

}  // namespace sl::controller
