#include "study/policy_check.h"

#include <gtest/gtest.h>

namespace sl::study {
namespace {

TEST(PolicyCheck, is_repeated_with_the_parameters_in_words_for_a_shell) {
  const std::string command = checked_command(1, "./my policy.py", {{"mode", "epoch_ring"}, {"title", "it's mine"}});
  EXPECT_TRUE(command.starts_with("schedulearn sim run --trace poisson:")) << command;
  EXPECT_TRUE(command.ends_with(
      " --seed 1 --servers 4x4 --policy './my policy.py' --param mode=epoch_ring --param 'title=it'\\''s mine'"))
      << command;
}

TEST(PolicyCheck, that_is_interrupted_in_a_workload_says_nothing_of_it) {
  int asked = 0;
  const PolicyCheck report = check_policy({.name = "fifo", .parameters = {}}, 5, [&] { return ++asked < 20; });
  EXPECT_LT(asked, 30) << "it goes on for a decision, not for a workload";
  EXPECT_EQ(report.workloads, 0U);
  EXPECT_TRUE(report.broken.empty());
  EXPECT_TRUE(report.notes.empty());
}

}  // namespace
}  // namespace sl::study
