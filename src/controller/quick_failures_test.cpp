#include "controller/quick_failures.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace sl::controller {
namespace {

class QuickFailuresTest : public testing::Test {
 protected:
  void fails(const std::string& server, const std::string& user, const std::string& command = "train") {
    failures.add_failure({server, user, command, JobId(++job), now});
  }
  void runs_well(const std::string& server, const std::string& user, const std::string& command = "train") {
    failures.add_good({server, user, command, JobId(++job), now});
  }
  std::size_t against(const std::string& server) const {
    return failures.against(server, now, [&](const auto&, const auto& command) { return command == running_elsewhere; })
        .size();
  }
  void pass(int seconds) { now = now + Duration::whole_seconds(seconds); }

  QuickFailures failures;
  std::string running_elsewhere;  // a command
  std::int64_t job = 0;
  Instant now = Instant::at_seconds(1'000);
};

TEST_F(QuickFailuresTest, three_users_whose_jobs_fail_on_one_server_speak_against_it) {
  for (const char* user : {"ada", "bob", "eve"}) fails("s", user);
  EXPECT_EQ(against("s"), 3u);
  EXPECT_EQ(against("t"), 0u);
}

TEST_F(QuickFailuresTest, one_user_s_broken_jobs_count_once_however_many_they_are) {
  for (int i = 0; i < 100; ++i) fails("s", "ada", "broken " + std::to_string(i));
  EXPECT_EQ(against("s"), 1u);
}

TEST_F(QuickFailuresTest, jobs_whose_command_has_run_well_elsewhere_all_count) {
  runs_well("t", "ada");
  for (int i = 0; i < 3; ++i) fails("s", "ada");
  EXPECT_EQ(against("s"), 3u);
  pass(601);
  EXPECT_EQ(against("s"), 0u);
}

TEST_F(QuickFailuresTest, a_job_that_is_tried_again_counts_once) {
  runs_well("t", "ada");
  for (int i = 0; i < 3; ++i) failures.add_failure({"s", "ada", "train", JobId(9), now});
  EXPECT_EQ(against("s"), 1u);
}

TEST_F(QuickFailuresTest, jobs_whose_command_runs_elsewhere_at_the_moment_all_count) {
  running_elsewhere = "train";
  for (int i = 0; i < 3; ++i) fails("s", "ada");
  EXPECT_EQ(against("s"), 3u);
}

TEST_F(QuickFailuresTest, another_command_that_runs_well_elsewhere_says_nothing_about_this_one) {
  runs_well("t", "ada", "another");
  for (int i = 0; i < 3; ++i) fails("s", "ada");
  EXPECT_EQ(against("s"), 1u);
}

TEST_F(QuickFailuresTest, a_user_who_fails_on_another_server_too_speaks_against_neither) {
  runs_well("u", "ada");
  for (int i = 0; i < 3; ++i) fails("s", "ada");
  fails("t", "ada");
  EXPECT_EQ(against("s"), 0u);
  EXPECT_EQ(against("t"), 0u);
}

TEST_F(QuickFailuresTest, a_job_that_runs_well_clears_its_server) {
  for (const char* user : {"ada", "bob", "eve"}) fails("s", user);
  pass(1);
  runs_well("s", "mei");
  EXPECT_EQ(against("s"), 0u);
  pass(1);
  fails("s", "bob");
  EXPECT_EQ(against("s"), 1u);
}

// The attack: two users whose every job fails, on whatever server it is put.
TEST_F(QuickFailuresTest, two_users_whose_jobs_all_fail_never_condemn_a_server) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    failures = {};
    for (int i = 0; i < 200; ++i) {
      const std::string server(1, static_cast<char>('s' + random.integer(0, 3)));
      random.chance(0.2) ? runs_well(server, "mei", "good")
                         : fails(server, random.chance(0.5) ? "ada" : "bob", std::to_string(random.integer(0, 9)));
      pass(static_cast<int>(random.integer(0, 60)));
      for (const char* name : {"s", "t", "u", "v"}) ASSERT_LT(against(name), QuickFailures::limit) << seed;
    }
  }
}

}  // namespace
}  // namespace sl::controller
