#include "controller/request_log.h"

#include <gtest/gtest.h>

namespace sl::controller {
namespace {

std::string line_of(const std::string& method, int status, const std::string& path = "/api/v1/jobs",
                    const std::string& body = "") {
  const std::string id = "r-1", user = "mei";
  const net::Response answer{status, "application/problem+json", {}, body};
  return request_line({Instant{1'790'000'000'000'000}, id, user, method, path, answer, Duration{12'345}});
}

TEST(RequestLog, a_change_a_refusal_and_a_failure_have_a_line) {
  EXPECT_EQ(line_of("POST", 201),
            "2026-09-21T14:13:20.000Z level=info request=r-1 user=\"mei\" method=POST path=\"/api/v1/jobs\" status=201 "
            "took_ms=12.3");
  EXPECT_EQ(line_of("GET", 200), "");
  EXPECT_EQ(line_of("GET", 404), "");
  EXPECT_NE(line_of("GET", 403), "");
  const std::string failed = line_of("GET", 503, "/readyz", R"({"code":"disk-full","detail":"no \"room\""})");
  EXPECT_NE(failed.find("level=error"), std::string::npos);
  EXPECT_NE(failed.find(R"(code=disk-full detail="no \"room\"")"), std::string::npos) << failed;
}

TEST(RequestLog, nothing_that_a_request_holds_makes_a_second_line) {
  const std::string line = line_of("POST", 404, "/api/v1/jobs/5\nlevel=info user=\"root\"");
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_NE(line.find(R"(path="/api/v1/jobs/5\nlevel=info user=\"root\"")"), std::string::npos) << line;
  EXPECT_LE(line_of("POST", 404, std::string(100'000, 'x')).size(), 2'000U);
}

TEST(RequestLog, an_id_is_taken_over_only_if_it_is_one) {
  RequestLog log(Instant{255}, false);
  const auto id_of = [&](const std::string& given) {
    net::Request request;
    request.headers.emplace_back("x-request-id", given);
    return log.id_of(request);
  };
  EXPECT_EQ(id_of("proxy:7f.3_A-1"), "proxy:7f.3_A-1");
  EXPECT_EQ(id_of("two words"), "ff-1");
  EXPECT_EQ(id_of(std::string(65, 'a')), "ff-2");
  EXPECT_EQ(id_of(""), "ff-3");
}

}  // namespace
}  // namespace sl::controller
