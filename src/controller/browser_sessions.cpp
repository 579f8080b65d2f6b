#include "controller/browser_sessions.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "base/whole_number.h"
#include "controller/secret_text.h"
#include "notify/hmac.h"

namespace sl::controller {
namespace {

constexpr Duration session_length = Duration::whole_seconds(12 * 3600);
constexpr Duration code_length = Duration::whole_seconds(300);
constexpr std::size_t codes_most = 1000, ended_most = 1000;  // of one user
constexpr const char* session_purpose = "cookie";
constexpr const char* cookie_attributes =
    "; HttpOnly; SameSite=Strict";  // a session's path is that of the API, by default

std::optional<std::string> cookie_of(const net::Request& head, const std::string& name) {
  std::istringstream cookies(head.header("cookie").value_or(""));
  for (std::string cookie; std::getline(cookies, cookie, ';');) {
    cookie.erase(0, cookie.find_first_not_of(' '));
    if (cookie.starts_with(name + "=")) return cookie.substr(name.size() + 1);
  }
  return std::nullopt;
}

// "/jobs/5/proxy/board/" of "/jobs/5/proxy/board/tree?a=b"; empty: it goes to no port.
std::string port_path(const std::string& target) {
  constexpr std::string_view jobs = "/jobs/", proxy = "/proxy/";
  const std::size_t job = target.find('/', jobs.size());
  if (!target.starts_with(jobs) || job == std::string::npos || target.compare(job, proxy.size(), proxy) != 0) return "";
  const std::size_t name = job + proxy.size(), end = target.find_first_of("/?#", name);
  return end == std::string::npos || end == name || target[end] != '/' ? "" : target.substr(0, end + 1);
}

std::string port_purpose(const std::string& path, const std::string& peer) {
  return "port " + path + ' ' + peer.substr(0, peer.rfind(':'));
}

Error no_sessions() {
  return unavailable("no-sessions", "this controller has no token, so that nobody can sign in with it");
}

}  // namespace

BrowserSessions::BrowserSessions(std::string token, const People& people, std::function<Instant()> clock)
    : token_(std::move(token)),
      people_(people),
      clock_(std::move(clock)),
      cookie_name_("schedulearn_" + (token_.empty() ? "" : proof("name").substr(0, 8))),
      port_cookie_name_(cookie_name_ + "_port") {}

std::string BrowserSessions::proof(const std::string& text) const { return notify::hmac_sha256(token_, {text}); }

// USER:BASIS:EXPIRES:SESSION:PROOF, the first two percent-encoded.
std::string BrowserSessions::claim(const Identity& identity, Instant expires, const std::string& session,
                                   const std::string& purpose) const {
  const std::string text = fmt::format("{}:{}:{}:{}", net::percent_encode(identity.user),
                                       net::percent_encode(identity.basis), expires.us, session);
  return text + ':' + proof(purpose + ' ' + text);
}

std::optional<BrowserSessions::Claim> BrowserSessions::read_claim(const std::string& value,
                                                                  const std::string& purpose) const {
  const std::size_t last = value.rfind(':');
  if (last == std::string::npos) return std::nullopt;
  const std::string text = value.substr(0, last);
  if (!same_secret(value.substr(last + 1), proof(purpose + ' ' + text))) return std::nullopt;
  std::istringstream parts(text);
  std::string user, basis, expires, session;
  for (std::string* part : {&user, &basis, &expires, &session}) std::getline(parts, *part, ':');
  const Instant end{parse_whole_number(expires).value_or(0)};
  if (end <= clock_()) return std::nullopt;
  Identity identity{net::percent_decode(user, false), Role::viewer, net::percent_decode(basis, false)};
  identity.session = session;
  return Claim{std::move(identity), end};
}

std::optional<Identity> BrowserSessions::holder(const std::optional<Claim>& claim) const {
  if (!claim || has_ended(claim->identity)) return std::nullopt;
  auto confirmed = people_.confirm(claim->identity);
  if (confirmed) confirmed->session = claim->identity.session;
  return confirmed;
}

bool BrowserSessions::has_ended(const Identity& identity) const {
  if (identity.session.empty()) return false;
  const std::lock_guard lock(mutex_);
  return ended_.contains(identity.session);
}

// Of the request's cookie, whether its session has ended or not.
std::optional<BrowserSessions::Claim> BrowserSessions::claim_of(const net::Request& head) const {
  const auto value = token_.empty() ? std::nullopt : cookie_of(head, cookie_name_);
  return value ? read_claim(*value, session_purpose) : std::nullopt;
}

Result<BrowserSessions::Session> BrowserSessions::begin(const Identity& identity) const {
  if (token_.empty()) return no_sessions();
  const Instant expires = clock_() + session_length;
  const std::string value = claim(identity, expires, random_text(), session_purpose);
  return Session{fmt::format("{}={}; Max-Age={}{}", cookie_name_, value,
                             static_cast<std::int64_t>(session_length.to_seconds()), cookie_attributes),
                 proof("key " + value), expires};
}

std::optional<Identity> BrowserSessions::find(const net::Request& head) const {
  const auto key = head.header("x-schedulearn-session");
  const auto value = token_.empty() || !key ? std::nullopt : cookie_of(head, cookie_name_);
  if (!value || !same_secret(*key, proof("key " + *value))) return std::nullopt;
  return holder(read_claim(*value, session_purpose));
}

std::string BrowserSessions::end(const net::Request& head) {
  if (const auto claim = claim_of(head)) {
    const Instant now = clock_();
    const std::lock_guard lock(mutex_);
    std::erase_if(ended_, [now](const auto& ended) { return ended.second.expires <= now; });
    const std::string& user = claim->identity.user;
    const auto is_theirs = [&](const auto& ended) { return ended.second.user == user; };
    if (std::cmp_greater_equal(std::ranges::count_if(ended_, is_theirs), ended_most))
      ended_.erase(std::ranges::find_if(ended_, is_theirs));
    // Its ports were opened later, and expire later.
    ended_.emplace(claim->identity.session, Ended{user, now + session_length});
  }
  return cookie_name_ + "=; Max-Age=0" + cookie_attributes;
}

Result<BrowserSessions::Session> BrowserSessions::open_port(const Identity& identity, const std::string& path,
                                                            const net::Request& head) const {
  if (token_.empty()) return no_sessions();
  const auto session = claim_of(head);
  const Instant expires = clock_() + session_length;
  const std::string value =
      claim(identity, expires, session ? session->identity.session : random_text(), port_purpose(path, head.peer));
  return Session{fmt::format("{}={}; Max-Age={}{}; Path={}", port_cookie_name_, value,
                             static_cast<std::int64_t>(session_length.to_seconds()), cookie_attributes, path),
                 "", expires};
}

std::optional<Identity> BrowserSessions::find_port(const net::Request& head) const {
  const std::string path = port_path(head.target);
  const std::string site = head.header("sec-fetch-site").value_or("none");
  const bool is_own = site == "none" || site == "same-origin";
  const auto value = token_.empty() || path.empty() || !is_own ? std::nullopt : cookie_of(head, port_cookie_name_);
  return value ? holder(read_claim(*value, port_purpose(path, head.peer))) : std::nullopt;
}

Result<BrowserSessions::Code> BrowserSessions::make_code(const Identity& identity) {
  if (token_.empty()) return no_sessions();
  const Instant now = clock_();
  const std::lock_guard lock(mutex_);
  std::erase_if(codes_, [now](const auto& code) { return code.second.expires <= now; });
  const auto own =
      std::ranges::count_if(codes_, [&](const auto& code) { return code.second.identity.user == identity.user; });
  if (std::cmp_greater_equal(own, codes_most))
    return unavailable("too-many-links", fmt::format("{} has made {} links that were not used", identity.user, own))
        .hint("they expire within five minutes");
  Code code{random_text(), now + code_length};
  codes_[code.text] = {identity, code.expires};
  return code;
}

std::optional<Identity> BrowserSessions::maker_of_code(const net::Request& head) const {
  const auto text = head.header("x-schedulearn-code");
  if (!text) return std::nullopt;
  const std::lock_guard lock(mutex_);
  const auto at = codes_.find(*text);
  if (at == codes_.end() || at->second.expires <= clock_()) return std::nullopt;
  return people_.confirm(at->second.identity);
}

bool BrowserSessions::spend_code(const net::Request& head) {
  const auto text = head.header("x-schedulearn-code");
  const std::lock_guard lock(mutex_);
  return text && codes_.erase(*text) > 0;
}

}  // namespace sl::controller
