// Who one is, and signing in with a browser.
#include "controller/api.h"
#include "controller/views.h"

namespace sl::controller {
namespace {

namespace json = boost::json;

json::object identity_view(const Identity& identity) {
  return {{"user", identity.user}, {"role", identity.is_admin ? "admin" : "user"}};
}

}  // namespace

void Api::who_am_i(Call call) { call.send(200, identity_view(call.identity)); }

// Whoever may ask may also sign in. A code that came with the request is used up.
void Api::begin_session(Call call) {
  const bool has_code = call.request.header("x-schedulearn-code").has_value();
  if (has_code && !sessions_.spend_code(call.request))
    return call.fail(denied("code-used", "this link has signed in a browser before").hint("schedulearn web --link"));
  const auto session = sessions_.begin(call.identity);
  if (!session.ok()) return call.fail(session.error());
  json::object view = identity_view(call.identity);
  view["key"] = session->key;
  view["expires_at"] = rfc3339(session->expires.us);
  net::Response response = json_response(201, view);
  response.headers.emplace_back("Set-Cookie", session->cookie);
  response.headers.emplace_back("Cache-Control", "no-store");
  call.reply->send(std::move(response));
}

void Api::end_session(Call call) {
  net::Response response = json_response(200, json::object{{"signed_out", true}});
  response.headers.emplace_back("Set-Cookie", sessions_.ending_cookie());
  call.reply->send(std::move(response));
}

void Api::make_link(Call call) {
  const auto code = sessions_.make_code(call.identity);
  if (!code.ok()) return call.fail(code.error());
  net::Response response = json_response(201, json::object{{"code", code->text},
                                                           {"fragment", "#sign-in=" + code->text},
                                                           {"expires_at", rfc3339(code->expires.us)}});
  response.headers.emplace_back("Cache-Control", "no-store");
  call.reply->send(std::move(response));
}

}  // namespace sl::controller
