#include "controller/admission.h"

#include <gtest/gtest.h>

namespace sl::controller {
namespace {

constexpr const char* token = "a-token-of-some-length";
constexpr uid_t own_user = 1234, stranger = 4321;

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
  return identity.ok() ? identity->user + (identity->is_admin ? "*" : "") : identity.error().code;
}

TEST(Admission, a_host_that_only_looks_like_loopback_is_refused) {
  Admission admission("127.0.0.1", token, own_user);
  for (const char* host : {"127.evil.example:5000", "127.0.0.1.evil.example", "evil.example", "[::1", "", "::1"})
    EXPECT_EQ(who(admission, request({{"host", host}}, 0)), "wrong-host") << host;
  for (const char* host : {"127.0.0.1:5000", "localhost:5000", "LOCALHOST", "[::1]:5000", "127.0.0.1"})
    EXPECT_EQ(who(admission, request({{"host", host}}, 0)), "root*") << host;
}

TEST(Admission, a_page_of_another_origin_is_refused_also_when_its_name_begins_like_ours) {
  Admission admission("127.0.0.1", token, own_user);
  for (const char* origin : {"http://127.evil.example:5000", "http://127.0.0.1:5001", "https://127.0.0.1:5000", "null"})
    EXPECT_EQ(who(admission, request({{"origin", origin}}, 0)), "foreign-origin") << origin;
  EXPECT_EQ(who(admission, request({{"origin", "http://127.0.0.1:5000"}}, 0)), "root*");
}

TEST(Admission, root_and_the_own_user_need_no_token_everybody_else_does) {
  Admission admission("127.0.0.1", token, own_user);
  EXPECT_EQ(who(admission, request({}, 0)), "root*");
  EXPECT_EQ(who(admission, request({}, own_user)), "1234*");
  EXPECT_EQ(who(admission, request({}, stranger)), "token-required");
  EXPECT_EQ(who(admission, request({})), "token-required");  // the kernel cannot tell
  EXPECT_EQ(who(admission, request({{"authorization", "Bearer nonsense"}}, stranger)), "wrong-token");
  EXPECT_EQ(who(admission, request({{"authorization", "Bearer a-token-of-some-length"}}, stranger)), "4321");
  EXPECT_EQ(who(admission, request({{"authorization", "Bearer a-token-of-some-length"}})), "1234*");
}

TEST(Admission, without_a_token_nobody_else_is_let_in_by_an_empty_one) {
  Admission admission("127.0.0.1", "", own_user);
  EXPECT_EQ(who(admission, request({{"authorization", "Bearer "}}, stranger)), "token-required");
}

TEST(Admission, the_kernel_s_word_counts_for_no_host_that_was_rebound_to_us) {
  Admission admission("0.0.0.0", token, own_user);
  EXPECT_EQ(who(admission, request({{"host", "evil.example:5000"}}, own_user)), "token-required");
  EXPECT_EQ(who(admission, request({{"host", "127.0.0.1:5000"}}, own_user)), "1234*");
}

TEST(Admission, only_an_admin_may_act_for_another_user) {
  Admission admission("127.0.0.1", token, own_user);
  EXPECT_EQ(who(admission, request({{"x-schedulearn-user", "mei"}}, own_user)), "mei*");
  const std::string bearer = std::string("Bearer ") + token;
  EXPECT_EQ(who(admission, request({{"authorization", bearer}, {"x-schedulearn-user", "root"}}, stranger)),
            "not-your-name");
  EXPECT_EQ(who(admission, request({{"authorization", bearer}, {"x-schedulearn-user", "4321"}}, stranger)), "4321");
}

}  // namespace
}  // namespace sl::controller
