#include <gtest/gtest.h>

#include "controller/recording.h"

namespace sl::controller {
namespace {

TEST(Replay, of_a_folder_asks_for_the_recording_inside_it) {
  const auto replayed = replay(testing::TempDir());
  ASSERT_FALSE(replayed.ok());
  EXPECT_EQ(replayed.error().code, "not-a-file");
}

}  // namespace
}  // namespace sl::controller
