// Messages and receivers, well-behaved and others.
#include "courier/courier.h"

#include <gtest/gtest.h>
#include <ifaddrs.h>
#include <netdb.h>

#include <optional>

#include "support/receiver.h"

namespace sl::courier {
namespace {

using test::Receiver;
using namespace std::chrono_literals;

AllowedHosts allowing(std::vector<std::string> hosts) {
  auto allowed = AllowedHosts::parse(hosts);
  EXPECT_TRUE(allowed.ok());
  return std::move(*allowed);
}

CourierSettings on_loopback(std::chrono::milliseconds limit = 20s) {
  return {.allowed = allowing({"127.0.0.1"}), .connect_limit = limit, .total_limit = limit};
}

Outcome sent(Courier& courier, HttpPost message) {
  std::optional<Outcome> outcome;
  courier.send(std::move(message), [&](const Outcome& known) { outcome = known; });
  const auto deadline = std::chrono::steady_clock::now() + 30s;
  while (!outcome && std::chrono::steady_clock::now() < deadline) courier.work(100ms);
  return outcome.value_or(Outcome{.why = "no outcome"});
}
Outcome sent(const CourierSettings& settings, HttpPost message) {
  Courier courier(settings);
  return sent(courier, std::move(message));
}

std::string code_of(const std::string& url, const AllowedHosts& allowed = {}) {
  const auto to = parse_destination(url, {"http", "https"}, allowed);
  return to.ok() ? "" : to.error().code;
}

// A name other than localhost that leads to a loopback address; empty: there is none.
std::string name_of_this_machine() {
  char own[256] = {};
  ::gethostname(own, sizeof own - 1);
  for (const std::string& name : {std::string(own), std::string("ip6-localhost")}) {
    addrinfo* found = nullptr;
    if (name.empty() || ::getaddrinfo(name.c_str(), nullptr, nullptr, &found) != 0) continue;
    const bool is_loopback = is_reserved(*found->ai_addr);
    ::freeaddrinfo(found);
    if (is_loopback) return name;
  }
  return "";
}

TEST(Hosts, this_machine_is_refused_by_its_addresses_in_networks_too) {
  ifaddrs* list = nullptr;
  ASSERT_EQ(::getifaddrs(&list), 0);
  for (const ifaddrs* each = list; each; each = each->ifa_next) {
    if (!each->ifa_addr || each->ifa_addr->sa_family != AF_INET) continue;
    const std::string address = address_text(*each->ifa_addr);
    EXPECT_EQ(code_of("http://" + address + "/hook"), "host-not-allowed") << address;
    EXPECT_EQ(code_of("http://[::ffff:" + address + "]/hook"), "host-not-allowed") << address;
  }
  ::freeifaddrs(list);
}

TEST(Hosts, those_of_this_machine_and_its_link_are_refused_in_every_spelling) {
  for (const char* host : {"127.0.0.1",
                           "127.9.9.9",
                           "2130706433",
                           "0x7f.1",
                           "127.1",
                           "0.0.0.0",
                           "169.254.169.254",
                           "224.0.0.1",
                           "255.255.255.255",
                           "[::1]",
                           "[::]",
                           "[fe80::1]",
                           "[ff02::1]",
                           "[::ffff:127.0.0.1]",
                           "[::ffff:a9fe:a9fe]",
                           "[64:ff9b::7f00:1]",
                           "[2002:7f00:1::]",
                           "localhost",
                           "LOCALHOST.",
                           "a.localhost"})
    EXPECT_EQ(code_of(std::string("http://") + host + "/x"), "host-not-allowed") << host;
  for (const char* host : {"10.0.0.1", "192.168.1.1", "8.8.8.8", "hooks.example", "[2001:db8::1]", "localhost.example"})
    EXPECT_EQ(code_of(std::string("https://") + host + "/x"), "") << host;
}

TEST(Hosts, the_admin_allows_them_one_by_one) {
  const AllowedHosts allowed = allowing({"127.0.0.1:8025", "[::1]", "Relay.lab"});
  EXPECT_EQ(code_of("http://127.0.0.1:8025/", allowed), "");
  EXPECT_EQ(code_of("http://127.0.0.1:8026/", allowed), "host-not-allowed");
  EXPECT_EQ(code_of("http://127.0.0.1/", allowed), "host-not-allowed");
  EXPECT_EQ(code_of("http://[::1]:9/", allowed), "");
  EXPECT_TRUE(parse_destination("http://relay.LAB/", {"http"}, allowed)->is_allowed);
  EXPECT_FALSE(parse_destination("http://other.lab/", {"http"}, allowed)->is_allowed);
  EXPECT_EQ(AllowedHosts::parse({"a/b"}).error().code, "bad-host");
  EXPECT_EQ(AllowedHosts::parse({""}).error().code, "bad-host");
}

TEST(Hosts, only_plain_urls_of_the_right_kind_are_taken) {
  for (const char* url : {"", "hooks.example/x y", "ftp://a", "file:///etc/passwd", "http://mei:pw@a/", "http://mei@a/",
                          "gopher://a", "http://"})
    EXPECT_EQ(code_of(url), "bad-url") << url;
}

TEST(Courier, a_post_arrives_as_it_was_made) {
  Receiver receiver(Receiver::answering(204));
  const Outcome outcome = sent(on_loopback(), {receiver.url("/hook"), {"X-One: 1"}, "{\"a\": 1}"});
  EXPECT_TRUE(outcome.is_delivered) << outcome.why;
  EXPECT_EQ(outcome.status, 204);
  const std::string request = receiver.requests().at(0);
  EXPECT_EQ(request.find("POST /hook HTTP/1.1\r\n"), 0U) << request;
  EXPECT_NE(request.find("X-One: 1\r\n"), std::string::npos);
  EXPECT_TRUE(request.ends_with("\r\n\r\n{\"a\": 1}"));
}

TEST(Courier, an_error_is_told_with_how_long_to_wait) {
  Receiver receiver(Receiver::answering(503, "Retry-After: 17\r\n", "secret details"));
  const Outcome outcome = sent(on_loopback(), {receiver.url(), {}, "x"});
  EXPECT_FALSE(outcome.is_delivered);
  EXPECT_EQ(outcome.status, 503);
  EXPECT_EQ(outcome.wait_s, 17);
  EXPECT_EQ(outcome.why, "it answered 503");
}

TEST(Courier, no_redirect_is_followed) {
  Receiver inside(Receiver::answering(200));
  Receiver receiver(Receiver::answering(307, "Location: " + inside.url() + "\r\n"));
  const Outcome outcome = sent(on_loopback(), {receiver.url(), {}, "x"});
  EXPECT_FALSE(outcome.is_delivered);
  EXPECT_EQ(outcome.why, "it answered 307: redirects are not followed");
  EXPECT_TRUE(inside.requests().empty());
}

TEST(Courier, a_name_that_leads_to_this_machine_is_not_connected_to) {
  const std::string name = name_of_this_machine();
  if (name.empty()) GTEST_SKIP() << "this machine has no name that leads to a loopback address";
  ASSERT_EQ(code_of("http://" + name), "") << "the name alone does not show it";
  Receiver receiver(Receiver::answering(200));
  const Outcome outcome = sent({}, {"http://" + name + ":" + std::to_string(receiver.port()) + "/", {}, "x"});
  EXPECT_TRUE(receiver.requests().empty());
  EXPECT_TRUE(outcome.is_refused_here);
  EXPECT_NE(outcome.why.find("which is not allowed"), std::string::npos) << outcome.why;
}

TEST(Courier, what_is_not_allowed_gets_no_connection) {
  Receiver receiver(Receiver::answering(200));
  const Outcome outcome = sent({}, {receiver.url(), {}, "x"});
  EXPECT_TRUE(outcome.is_refused_here);
  EXPECT_TRUE(receiver.requests().empty());
}

TEST(Courier, proxies_of_the_environment_are_not_used) {
  Receiver proxy(Receiver::answering(200));
  ::setenv("http_proxy", proxy.url().c_str(), 1);
  Receiver receiver(Receiver::answering(200));
  EXPECT_TRUE(sent(on_loopback(), {receiver.url(), {}, "x"}).is_delivered);
  ::unsetenv("http_proxy");
  EXPECT_TRUE(proxy.requests().empty());
}

TEST(Courier, who_hangs_is_given_up) {
  Receiver silent([](const auto&) {});
  Receiver deaf([](const auto&) {}, 0, false);
  Courier courier(on_loopback(300ms));
  EXPECT_EQ(sent(courier, {deaf.url(), {}, std::string(8 << 20, 'x')}).why, "it did not answer in time");
  Receiver slow([](const Receiver::Write& write) {
    write("HTTP/1.1 ");
    while (write("1")) std::this_thread::sleep_for(20ms);
  });
  EXPECT_FALSE(sent(courier, {slow.url(), {}, "x"}).is_delivered);
  EXPECT_FALSE(sent(courier, {silent.url(), {}, "x"}).is_delivered);
}

TEST(Courier, one_that_hangs_does_not_delay_others) {
  Receiver deaf([](const auto&) {}, 0, false);
  Receiver good(Receiver::answering(200));
  Courier courier(on_loopback());
  bool is_back = false;
  courier.send(HttpPost{deaf.url(), {}, std::string(8 << 20, 'x')}, [&](const Outcome&) { is_back = true; });
  EXPECT_TRUE(sent(courier, {good.url(), {}, "x"}).is_delivered);
  EXPECT_FALSE(is_back);
}

TEST(Courier, an_endless_answer_ends) {
  const auto endless = [](const std::string& head) {
    return [head](const Receiver::Write& write) {
      const std::string piece(4096, 'x');
      for (bool goes_on = write(head); goes_on;) goes_on = write(piece);
    };
  };
  Receiver good(endless("HTTP/1.1 200 OK\r\n\r\n")), bad(endless("HTTP/1.1 500 X\r\n\r\n")),
      heads(endless("HTTP/1.1 200 OK\r\nX: "));
  Courier courier(on_loopback());
  EXPECT_TRUE(sent(courier, {good.url(), {}, "x"}).is_delivered);
  EXPECT_EQ(sent(courier, {bad.url(), {}, "x"}).why, "it answered 500");
  EXPECT_FALSE(sent(courier, {heads.url(), {}, "x"}).why == "no outcome");
}

TEST(Courier, nobody_there) {
  std::string url;
  {
    Receiver gone(Receiver::answering(200));
    url = gone.url();
  }
  const Outcome outcome = sent(on_loopback(), {url, {}, "x"});
  EXPECT_FALSE(outcome.is_delivered || outcome.is_refused_here);
  EXPECT_EQ(outcome.why, "it cannot be connected to");
}

}  // namespace
}  // namespace sl::courier
