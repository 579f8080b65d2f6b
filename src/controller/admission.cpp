#include "controller/admission.h"

#include <pwd.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "controller/checkpoint_relay.h"
#include "controller/secret_text.h"
#include "net/url.h"
#include "wire/utf8.h"

namespace sl::controller {
namespace {

bool is_same_origin(const std::string& origin, const net::Authority& host) {
  const auto url = net::parse_url(origin);
  return url.ok() && origin.starts_with("http://") && net::Authority{url->host, url->port} == host;
}

// A code is only good for signing in.
bool signs_in(const net::Request& head) { return head.method == "POST" && head.path == "/api/v1/sessions"; }

}  // namespace

std::string name_of_user(uid_t user) {
  passwd entry{};
  passwd* found = nullptr;
  std::array<char, 4096> buffer{};
  ::getpwuid_r(user, &entry, buffer.data(), buffer.size(), &found);
  return found ? found->pw_name : std::to_string(user);
}

std::string_view bearer_of(std::string_view authorization) {
  constexpr std::string_view scheme = "bearer ";
  const auto is_same = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
  if (authorization.size() < scheme.size() ||
      !std::equal(scheme.begin(), scheme.end(), authorization.begin(), [&](char b, char a) { return is_same(a, b); }))
    return {};
  authorization.remove_prefix(scheme.size());
  authorization.remove_prefix(std::min(authorization.find_first_not_of(' '), authorization.size()));
  return authorization;
}

std::string_view bearer_of(const net::Request& head) {
  for (const auto& [name, value] : head.headers) {
    if (const std::string_view secret = bearer_of(value); name == "authorization" && !secret.empty()) return secret;
  }
  return {};
}

Admission::Admission(std::string listen_address, std::string token, uid_t own_user, const BrowserSessions& sessions,
                     People& people)
    : only_loopback_(net::is_loopback(listen_address)),
      token_(std::move(token)),
      own_user_(own_user),
      sessions_(sessions),
      people_(people) {}

Status Admission::check_place(const net::Request& head) const {
  const std::string text = head.header("host").value_or("");
  const auto host = net::parse_authority(text);
  if (!host || (only_loopback_ && !net::is_loopback(host->host)))
    return denied("wrong-host", "this controller is not called " + text).hint("ask for http://127.0.0.1:PORT");
  if (const auto origin = head.header("origin"); origin && !is_same_origin(*origin, *host))
    return denied("foreign-origin", "requests from pages of " + *origin + " are refused");
  return {};
}

Result<Identity> Admission::identify(const net::Request& head) {
  if (Status place = check_place(head); !place.ok()) return place.error();
  const auto host = net::parse_authority(head.header("host").value_or(""));
  auto signed_in = signs_in(head) ? sessions_.maker_of_code(head) : std::nullopt;
  if (!signed_in && signs_in(head) && head.header("x-schedulearn-code"))  // what else would sign in is not meant
    return denied("code-used", "this link has expired, has signed in a browser before, or its maker may not sign in")
        .hint("schedulearn web --link");
  if (!signed_in) signed_in = sessions_.find(head);
  if (!signed_in) signed_in = sessions_.find_port(head);
  Result<Identity> identity = signed_in ? std::move(*signed_in) : who(head, host && net::is_loopback(host->host));
  const auto named = head.header("x-schedulearn-user");
  if (!identity.ok() || !named) return identity;
  if (named->empty() || !wire::is_utf8(*named) || wire::has_control_characters(*named))
    return invalid("bad-user",
                   "X-Schedulearn-User names nobody: it is empty, or no UTF-8 text, or has control characters");
  if (Status may = may_act_for(*identity, *named); !may.ok()) return may.error();
  identity->acts_for_other = identity->user != *named;
  identity->user = *named;
  return identity;
}

Result<Identity> Admission::sign_in(const net::Request& head, const std::string& password) {
  if (Status place = check_place(head); !place.ok()) return place.error();
  if (People::is_named(password)) return people_.holder_of(password);
  if (token_.empty() || !same_secret(password, token_))
    return denied("wrong-token", "the password is not the token of this controller");
  const auto host = net::parse_authority(head.header("host").value_or(""));
  return holder(host && net::is_loopback(host->host) ? head.peer_uid : std::nullopt);
}

Result<Identity> Admission::who(const net::Request& head, bool host_is_loopback) {
  const auto user = host_is_loopback ? head.peer_uid : std::nullopt;
  const auto given = head.header("authorization");
  const std::string_view secret = bearer_of(head);
  if (People::is_named(secret)) return people_.holder_of(secret);
  if (user && (*user == 0 || *user == own_user_)) return holder(user);
  if (!given || token_.empty())
    return denied("token-required", user ? "the user " + name_of(*user) + " needs the token of this controller"
                                         : "a request from another machine needs the token of this controller")
        .note("it is in the file token of the controller's data folder, or the one given with --token-file")
        .hint("SCHEDULEARN_TOKEN_FILE=FILE schedulearn …")
        .hint("with a token of your own: schedulearn login URL");
  if (secret.empty() || !same_secret(secret, token_))
    return denied("wrong-token", "this is not the token of this controller");
  return holder(user);
}

std::string Admission::sender_of(const net::Request& head) {
  return head.peer_uid ? "the user " + name_of(*head.peer_uid) + " of this machine" : host_of_peer(head.peer);
}

Identity Admission::holder(std::optional<uid_t> user) {
  if (!user || *user == 0 || *user == own_user_) return {name_of(user.value_or(own_user_)), Role::admin, "controller"};
  const std::string& name = name_of(*user);
  return {name, people_.role_of(name), "name:" + name};
}

const std::string& Admission::name_of(uid_t user) {
  auto [at, is_new] = names_.try_emplace(user);
  if (is_new) at->second = name_of_user(user);
  return at->second;
}

Status may_act_for(const Identity& identity, const std::string& user) {
  if (identity.is_admin() || identity.user == user) return {};
  return denied("not-your-name", identity.user + " may not act for " + user)
      .hint("only " + user + " and admins may do this; in a request of your own, leave out the user");
}

}  // namespace sl::controller
