#include "controller/admission.h"

#include <gtest/gtest.h>

namespace sl::controller {
namespace {

constexpr const char* token = "a-token-of-some-length";
constexpr uid_t own_user = 1234, stranger = 4321;
People nobody_special({}, {}, [] { return Instant{}; });
const BrowserSessions no_sessions("", nobody_special, [] { return Instant{}; });

Identity of(const std::string& user) { return {user, Role::user, "name:" + user}; }
Identity admin(const std::string& user) { return {user, Role::admin, "controller"}; }

net::Request request(net::Headers headers, std::optional<std::uint32_t> uid = {}) {
  net::Request head;
  head.headers = std::move(headers);
  if (!head.header("host")) head.headers.emplace_back("host", "127.0.0.1:5000");
  head.peer_uid = uid;
  return head;
}

// The error's code, or "USER" with "*" for an admin.
std::string who(Admission& admission, const net::Request& head) {
  const auto identity = admission.identify(head);
  return identity.ok() ? identity->user + (identity->is_admin() ? "*" : "") : identity.error().code;
}

TEST(Admission, a_host_that_only_looks_like_loopback_is_refused) {
  Admission admission("127.0.0.1", token, own_user, no_sessions, nobody_special);
  for (const char* host : {"127.evil.example:5000", "127.0.0.1.evil.example", "evil.example", "[::1", "", "::1"})
    EXPECT_EQ(who(admission, request({{"host", host}}, 0)), "wrong-host") << host;
  for (const char* host : {"127.0.0.1:5000", "localhost:5000", "LOCALHOST", "[::1]:5000", "127.0.0.1"})
    EXPECT_EQ(who(admission, request({{"host", host}}, 0)), "root*") << host;
}

TEST(Admission, a_page_of_another_origin_is_refused_also_when_its_name_begins_like_ours) {
  Admission admission("127.0.0.1", token, own_user, no_sessions, nobody_special);
  for (const char* origin : {"http://127.evil.example:5000", "http://127.0.0.1:5001", "https://127.0.0.1:5000", "null"})
    EXPECT_EQ(who(admission, request({{"origin", origin}}, 0)), "foreign-origin") << origin;
  EXPECT_EQ(who(admission, request({{"origin", "http://127.0.0.1:5000"}}, 0)), "root*");
}

TEST(Admission, root_and_the_own_user_need_no_token_everybody_else_does) {
  Admission admission("127.0.0.1", token, own_user, no_sessions, nobody_special);
  EXPECT_EQ(who(admission, request({}, 0)), "root*");
  EXPECT_EQ(who(admission, request({}, own_user)), "1234*");
  EXPECT_EQ(who(admission, request({}, stranger)), "token-required");
  EXPECT_EQ(who(admission, request({})), "token-required");  // the kernel cannot tell
  EXPECT_EQ(who(admission, request({{"authorization", "Bearer nonsense"}}, stranger)), "wrong-token");
  EXPECT_EQ(who(admission, request({{"authorization", "Bearer a-token-of-some-length"}}, stranger)), "4321");
  EXPECT_EQ(who(admission, request({{"authorization", "Bearer a-token-of-some-length"}})), "1234*");
}

TEST(Admission, the_scheme_of_a_token_is_read_as_http_has_it) {
  Admission admission("127.0.0.1", token, own_user, no_sessions, nobody_special);
  for (const char* given : {"bearer a-token-of-some-length", "BEARER   a-token-of-some-length"})
    EXPECT_EQ(who(admission, request({{"authorization", given}}, stranger)), "4321") << given;
  EXPECT_EQ(bearer_of("Basic a-token-of-some-length"), "");
  EXPECT_EQ(bearer_of("Bearer"), "");
}

TEST(Admission, whoever_acts_for_others_names_somebody) {
  Admission admission("127.0.0.1", token, own_user, no_sessions, nobody_special);
  EXPECT_EQ(who(admission, request({{"x-schedulearn-user", "mei"}}, 0)), "mei*");
  for (const char* nobody : {"", "J\xfcrgen"})
    EXPECT_EQ(who(admission, request({{"x-schedulearn-user", nobody}}, 0)), "bad-user") << nobody;
}

TEST(Admission, without_a_token_nobody_else_is_let_in_by_an_empty_one) {
  Admission admission("127.0.0.1", "", own_user, no_sessions, nobody_special);
  EXPECT_EQ(who(admission, request({{"authorization", "Bearer "}}, stranger)), "token-required");
}

TEST(Admission, the_kernel_s_word_counts_for_no_host_that_was_rebound_to_us) {
  Admission admission("0.0.0.0", token, own_user, no_sessions, nobody_special);
  EXPECT_EQ(who(admission, request({{"host", "evil.example:5000"}}, own_user)), "token-required");
  EXPECT_EQ(who(admission, request({{"host", "127.0.0.1:5000"}}, own_user)), "1234*");
}

TEST(Admission, only_an_admin_may_act_for_another_user) {
  Admission admission("127.0.0.1", token, own_user, no_sessions, nobody_special);
  EXPECT_EQ(who(admission, request({{"x-schedulearn-user", "mei"}}, own_user)), "mei*");
  const std::string bearer = std::string("Bearer ") + token;
  EXPECT_EQ(who(admission, request({{"authorization", bearer}, {"x-schedulearn-user", "root"}}, stranger)),
            "not-your-name");
  EXPECT_EQ(who(admission, request({{"authorization", bearer}, {"x-schedulearn-user", "4321"}}, stranger)), "4321");
}

// A request of a browser that holds this cookie (as it was set) and this key.
net::Request from_browser(const std::string& cookie, const std::string& key) {
  return request({{"cookie", "other=1; " + cookie.substr(0, cookie.find(';'))}, {"x-schedulearn-session", key}});
}

TEST(BrowserSessions, both_halves_are_the_one_who_signed_in_and_one_half_is_nobody) {
  Instant now{1'000'000};
  const BrowserSessions sessions(token, nobody_special, [&] { return now; });
  Admission admission("0.0.0.0", token, own_user, sessions, nobody_special);
  const auto session = sessions.begin(of("mei:x y"));
  ASSERT_TRUE(session.ok());
  EXPECT_EQ(who(admission, from_browser(session->cookie, session->key)), "mei:x y");
  EXPECT_EQ(who(admission, from_browser(session->cookie, "")), "token-required");
  EXPECT_EQ(who(admission, from_browser("", session->key)), "token-required");
  const auto other = sessions.begin(admin("bella"));
  EXPECT_EQ(who(admission, from_browser(other->cookie, other->key)), "bella*");
  EXPECT_EQ(who(admission, from_browser(session->cookie, other->key)), "token-required");
  std::string forged = session->cookie;
  const std::string basis = ":name%3Amei%3Ax%20y:";
  forged.replace(forged.find(basis), basis.size(), ":controller:");
  EXPECT_EQ(who(admission, from_browser(forged, session->key)), "token-required");
  EXPECT_NE(session->cookie.find("; HttpOnly; SameSite=Strict"), std::string::npos);
}

TEST(BrowserSessions, they_survive_a_restart_and_end_after_twelve_hours_and_with_the_token) {
  Instant now{1'000'000};
  const auto clock = [&] { return now; };
  const auto session = BrowserSessions(token, nobody_special, clock).begin(of("mei"));
  const net::Request browser = from_browser(session->cookie, session->key);
  EXPECT_TRUE(BrowserSessions(token, nobody_special, clock).find(browser));
  EXPECT_FALSE(BrowserSessions("another token, also long", nobody_special, clock).find(browser));
  now = session->expires;
  EXPECT_FALSE(BrowserSessions(token, nobody_special, clock).find(browser));
  EXPECT_EQ(BrowserSessions("", nobody_special, clock).begin(of("mei")).error().code, "no-sessions");
}

TEST(BrowserSessions, a_port_is_open_to_the_browser_that_asked_for_it_and_opens_nothing_else) {
  Instant now{1'000'000};
  const BrowserSessions sessions(token, nobody_special, [&] { return now; });
  Admission admission("0.0.0.0", token, own_user, sessions, nobody_special);
  net::Request asking;
  asking.peer = "10.0.0.7:4000";
  const auto opened = sessions.open_port(of("mei"), "/jobs/5/proxy/board/", asking);
  ASSERT_TRUE(opened.ok());
  EXPECT_NE(opened->cookie.find("; HttpOnly; SameSite=Strict; Path=/jobs/5/proxy/board/"), std::string::npos);
  const auto asks = [&](const std::string& target, const std::string& peer = "10.0.0.7:4001",
                        const net::Headers& more = {}) {
    net::Request head = from_browser(opened->cookie, "");
    head.headers.insert(head.headers.end(), more.begin(), more.end());
    head.target = head.path = target, head.peer = peer;
    return who(admission, head);
  };
  EXPECT_EQ(asks("/jobs/5/proxy/board/"), "mei");
  EXPECT_EQ(asks("/jobs/5/proxy/board/tree?a=b"), "mei");
  EXPECT_EQ(asks("/jobs/5/proxy/board/", "10.0.0.7:1", {{"sec-fetch-site", "same-origin"}}), "mei");
  for (const char* target : {"/jobs/6/proxy/board/", "/jobs/5/proxy/other/", "/jobs/5/proxy/board2/",
                             "/jobs/5/proxy/board", "/api/v1/jobs", "/api/v1/jobs/5/shell", "/jobs/5/proxy/", "/jobs/"})
    EXPECT_EQ(asks(target), "token-required") << target;
  EXPECT_EQ(asks("/jobs/5/proxy/board/", "10.0.0.8:4001"), "token-required") << "stolen";
  EXPECT_EQ(asks("/jobs/5/proxy/board/", "10.0.0.7:1", {{"sec-fetch-site", "same-site"}}), "token-required")
      << "a page on another port of the host";
  now = opened->expires;
  EXPECT_EQ(asks("/jobs/5/proxy/board/"), "token-required");
  EXPECT_EQ(BrowserSessions("", nobody_special, [&] { return now; }).open_port(of("mei"), "/", asking).error().code,
            "no-sessions");
}

TEST(BrowserSessions, who_signs_out_leaves_no_port_open_and_no_other_session_ends) {
  const Instant now{1'000'000};
  BrowserSessions sessions(token, nobody_special, [&] { return now; });
  const auto session = sessions.begin(of("mei")), other = sessions.begin(of("mei"));
  net::Request page = from_browser(session->cookie, session->key), tab;
  page.peer = tab.peer = "10.0.0.7:4000";
  const auto opened = sessions.open_port(of("mei"), "/jobs/5/proxy/board/", page);
  tab.headers = from_browser(opened->cookie, "").headers;
  tab.target = "/jobs/5/proxy/board/";
  EXPECT_TRUE(sessions.find_port(tab));
  EXPECT_TRUE(sessions.find(page));
  EXPECT_NE(sessions.end(page).find("Max-Age=0"), std::string::npos);
  EXPECT_FALSE(sessions.find_port(tab));
  EXPECT_FALSE(sessions.find(page)) << "also not to one who has kept both halves";
  EXPECT_TRUE(sessions.find(from_browser(other->cookie, other->key)));
  Identity for_another = *sessions.find(from_browser(other->cookie, other->key));
  for_another.user = "tom";
  sessions.end(from_browser(other->cookie, other->key));
  EXPECT_TRUE(sessions.has_ended(for_another)) << "also what was begun in another's name";
}

TEST(BrowserSessions, a_code_signs_in_once_for_five_minutes_and_does_nothing_else) {
  Instant now{1'000'000};
  BrowserSessions sessions(token, nobody_special, [&] { return now; });
  Admission admission("0.0.0.0", token, own_user, sessions, nobody_special);
  net::Request head = request({{"x-schedulearn-code", sessions.make_code(admin("mei"))->text}});
  EXPECT_EQ(who(admission, head), "token-required");
  head.method = "POST";
  head.path = "/api/v1/jobs";
  EXPECT_EQ(who(admission, head), "token-required");
  head.path = "/api/v1/sessions";
  EXPECT_EQ(who(admission, head), "mei*");
  EXPECT_TRUE(sessions.spend_code(head));
  EXPECT_FALSE(sessions.spend_code(head));
  EXPECT_EQ(who(admission, head), "code-used");
  const auto late = sessions.make_code(admin("mei"));
  head = request({{"x-schedulearn-code", late->text}});
  now = late->expires;
  EXPECT_FALSE(sessions.maker_of_code(head));
}

TEST(BrowserSessions, unused_codes_are_bounded_and_make_room_when_they_expire) {
  Instant now{1'000'000};
  BrowserSessions sessions(token, nobody_special, [&] { return now; });
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(sessions.make_code(of("mei")).ok());
  EXPECT_EQ(sessions.make_code(of("mei")).error().code, "too-many-links");
  EXPECT_TRUE(sessions.make_code(of("bella")).ok()) << "who has made none";
  now = now + Duration::whole_seconds(300);
  EXPECT_TRUE(sessions.make_code(of("mei")).ok());
}

}  // namespace
}  // namespace sl::controller
