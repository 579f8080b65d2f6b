#include "controller/clock.h"

#include <gtest/gtest.h>

namespace sl::controller {
namespace {

TEST(Clock, goes_on_where_it_was_when_it_has_been_corrected_a_little_and_by_the_wall_clock_otherwise) {
  const Instant wall = Instant::at_seconds(1e9);
  EXPECT_EQ(start_time(Instant{}, wall), wall) << "nothing has happened yet";
  EXPECT_EQ(start_time(wall - Duration::whole_seconds(100), wall), wall);
  const Instant corrected = wall + Duration::whole_seconds(10);
  EXPECT_EQ(start_time(corrected, wall), corrected);
  EXPECT_EQ(start_time(wall + Duration::whole_seconds(86'400), wall), wall);
}

}  // namespace
}  // namespace sl::controller
