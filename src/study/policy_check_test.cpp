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

}  // namespace
}  // namespace sl::study
