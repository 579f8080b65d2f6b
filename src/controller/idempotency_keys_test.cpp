#include "controller/idempotency_keys.h"

#include <gtest/gtest.h>

#include <chrono>

namespace sl::controller {
namespace {

Instant at(std::int64_t seconds) { return Instant::at_seconds(static_cast<double>(seconds)); }

TEST(IdempotencyKeys, one_that_was_given_again_after_its_day_stays_for_another) {
  IdempotencyKeys keys;
  keys.add("k", {"a", JobId(1), at(0), true});
  EXPECT_EQ(keys.expire(at(86'400)), std::nullopt);
  EXPECT_EQ(keys.expire(at(86'401)), JobId(1));
  EXPECT_EQ(keys.find("k"), nullptr);
  keys.add("k", {"b", JobId(2), at(86'402), true});
  keys.drop("k");
  keys.add("k", {"c", JobId(3), at(86'403), true});
  EXPECT_EQ(keys.expire(at(2 * 86'400 + 2 + 1)), JobId(2));
  EXPECT_EQ(keys.find("k")->job, JobId(3));
}

// With a scan of all keys for each submission this would take minutes.
TEST(IdempotencyKeys, a_million_keys_make_a_submission_no_slower) {
  IdempotencyKeys keys;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 1'000'000; ++i) {
    (void)keys.expire(at(i / 100));
    keys.add("key-" + std::to_string(i), {"", JobId(i), at(i / 100), true});
  }
  EXPECT_EQ(keys.size(), 1'000'000u);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

}  // namespace
}  // namespace sl::controller
