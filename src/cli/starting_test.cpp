#include "cli/starting.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

#include "wire/job_spec.h"

namespace sl::cli {
namespace {

struct StartingTest : testing::Test {
  StartingTest() {
    ::setenv("TZ", "UTC-1", 1);  // an hour before UTC
    ::tzset();
  }
  ~StartingTest() override {
    ::unsetenv("TZ");
    ::tzset();
  }
  // What the text means at 19:30 UTC, 20:30 on the local clock.
  static std::string meant(const std::string& text, Toward toward = Toward::future) {
    const auto us = time_meant(text, *wire::parse_time_us("2026-11-23T19:30:00Z"), toward);
    return us.ok() ? wire::time_text(*us).substr(0, 19) : us.error().code;
  }
};

TEST_F(StartingTest, a_clock_time_is_the_next_one_on_the_local_clock) {
  EXPECT_EQ(meant("21:00"), "2026-11-23T20:00:00");
  EXPECT_EQ(meant("21:00:30"), "2026-11-23T20:00:30");
  EXPECT_EQ(meant("20:30"), "2026-11-24T19:30:00") << "that is now: tomorrow's";
  EXPECT_EQ(meant("08:00"), "2026-11-24T07:00:00");
}

TEST_F(StartingTest, of_the_past_a_clock_time_is_the_last_one_and_a_duration_counts_back) {
  EXPECT_EQ(meant("20:30", Toward::past), "2026-11-23T19:30:00") << "that is now";
  EXPECT_EQ(meant("21:00", Toward::past), "2026-11-22T20:00:00");
  EXPECT_EQ(meant("08:00", Toward::past), "2026-11-23T07:00:00");
  EXPECT_EQ(meant("2h", Toward::past), "2026-11-23T17:30:00");
  EXPECT_EQ(meant("2026-11-23 08:00", Toward::past), "2026-11-23T07:00:00");
}

TEST_F(StartingTest, a_duration_counts_from_now) {
  EXPECT_EQ(meant("2h"), "2026-11-23T21:30:00");
  EXPECT_EQ(meant("1h30m"), "2026-11-23T21:00:00");
}

TEST_F(StartingTest, a_date_is_local_unless_it_says_otherwise) {
  EXPECT_EQ(meant("2026-12-01 06:00"), "2026-12-01T05:00:00");
  EXPECT_EQ(meant("2026-12-01T06:00:00Z"), "2026-12-01T06:00:00");
}

TEST_F(StartingTest, what_is_no_time_is_refused) {
  for (const char* text : {"", "tomorrow", "25:00", "21:60", "21:00:61", "21:00x", "2026-13-01 00:00", "-1:00", "21:"})
    EXPECT_EQ(meant(text), "bad-time") << text;
}

TEST_F(StartingTest, a_matrix_is_written_as_keys_and_values) {
  json::object job;
  ASSERT_TRUE(add_matrix(job, {"lr=0.1,0.01", "net=a"}).ok());
  EXPECT_EQ(json::serialize(job), R"({"matrix":{"lr":["0.1","0.01"],"net":["a"]}})");
  EXPECT_EQ(add_matrix(job, {"lr=3"}).error().code, "bad-matrix") << "its values would be lost";
  json::object empty;
  ASSERT_TRUE(add_matrix(empty, {"lr="}).ok());
  EXPECT_TRUE(empty.at("matrix").at("lr").as_array().empty()) << "which is refused as such";
  EXPECT_EQ(add_matrix(job, {"lr"}).error().code, "bad-flag");
  EXPECT_EQ(add_matrix(job, {"=1"}).error().code, "bad-flag");
}

}  // namespace
}  // namespace sl::cli
