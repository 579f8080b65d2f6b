#include "controller/rate_limits.h"

#include <gtest/gtest.h>

namespace sl::controller {
namespace {

int allowed(RateLimits& limits, const Identity& identity, Instant now, int requests) {
  int count = 0;
  for (int i = 0; i < requests; ++i) count += !limits.refuse(identity, now);
  return count;
}

TEST(RateLimits, a_user_may_send_many_at_once_and_then_so_many_a_second) {
  RateLimits limits;
  const Instant now{1'000'000'000};
  const Identity mei{"mei", Role::user, "token:1"}, same{"mei", Role::user, "token:2"},
      bella{"bella", Role::user, "name:bella"};
  EXPECT_EQ(allowed(limits, mei, now, 3'000), 2'000);
  EXPECT_EQ(allowed(limits, same, now, 10), 0) << "a second token is no second allowance";
  EXPECT_EQ(allowed(limits, bella, now, 10), 10);
  const auto wait = limits.refuse(mei, now);
  ASSERT_TRUE(wait);
  EXPECT_EQ(*wait, Duration::milliseconds(5));
  EXPECT_EQ(allowed(limits, mei, now + *wait, 10), 1);
  EXPECT_EQ(allowed(limits, mei, now + Duration::whole_seconds(1) + *wait, 1'000), 200);
  EXPECT_EQ(allowed(limits, mei, now + Duration::whole_seconds(100'000), 5'000), 2'000) << "it does not pile up";
}

TEST(RateLimits, a_clock_that_is_set_back_gives_and_takes_nothing) {
  RateLimits limits;
  const Identity mei{"mei", Role::user, "token:1"};
  EXPECT_EQ(allowed(limits, mei, Instant{5'000'000'000}, 2'000), 2'000);
  EXPECT_EQ(allowed(limits, mei, Instant{1'000'000}, 10), 0);
  EXPECT_EQ(allowed(limits, mei, Instant{2'000'000}, 1'000), 200);
}

TEST(RateLimits, the_controller_s_own_user_has_none) {
  RateLimits limits;
  EXPECT_EQ(allowed(limits, {"root", Role::admin, "controller"}, Instant{1}, 10'000), 10'000);
}

// As for /healthz, which whoever asks most often must not take from the others.
TEST(RateLimits, what_is_open_to_all_has_none) {
  RateLimits limits;
  EXPECT_EQ(allowed(limits, {}, Instant{1}, 10'000), 10'000);
}

}  // namespace
}  // namespace sl::controller
