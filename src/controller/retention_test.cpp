#include "controller/retention.h"

#include <gtest/gtest.h>

#include "controller/logic_test.h"

namespace sl::controller::test {
namespace {

constexpr Instant late = Instant::at_seconds(1'000'000);

// Finished jobs 1, 2, … that ended 10 s apart, the last one now.
class LongPast : public NoPast {
 public:
  explicit LongPast(std::int64_t jobs) : jobs_(jobs) {}
  Result<std::int64_t> bytes_used() override { return 1'000 * jobs_; }
  Result<std::vector<store::FinishedJob>> oldest_finished(std::int64_t before_us, std::size_t limit) override {
    std::vector<store::FinishedJob> found;
    for (std::int64_t id = 1; id <= jobs_ && late.us - (jobs_ - id) * 10'000'000 < before_us && found.size() < limit;
         ++id)
      found.push_back({id, "succeeded"});
    return found;
  }
  Result<bool> has_events_of_no_job(std::int64_t before_us) override { return before_us > late.us - 60'000'000; }

 private:
  std::int64_t jobs_;
};

// "age 1 2"
std::string removed(const wire::RetentionRule& rule, std::int64_t jobs = 5) {
  LongPast past(jobs);
  const auto look = Retention::look(rule, past, late, jobs);
  std::string text = look->removal.rule;
  for (const store::FinishedJob& job : look->removal.jobs) text += " " + std::to_string(job.id);
  return text + (look->removal.events_until_us > 0 ? " and events" : "");
}

TEST(Retention, removes_what_is_over_any_of_the_limits) {
  EXPECT_EQ(removed({.age_s = 25}), "age 1 2 and events");
  EXPECT_EQ(removed({.age_s = 3'600, .jobs = 4}), "number 1");
  EXPECT_EQ(removed({.age_s = 3'600, .bytes = 3'500}), "size 1 2");
  EXPECT_EQ(removed({.age_s = 25, .jobs = 1}), "age 1 2 and events") << "the others are too many at the next look";
  EXPECT_EQ(removed({.age_s = 0}), "age");
  EXPECT_EQ(removed({}), "age");
}

TEST(Retention, removes_a_few_at_a_time) {
  LongPast past(5'000);
  EXPECT_EQ(Retention::look({.jobs = 1}, past, late, 5'000)->removal.jobs.size(), 200U);
}

class RemovalTest : public LogicTest {};

TEST_F(RemovalTest, what_is_removed_is_said_and_not_counted_any_more) {
  hello();
  submit(1), settle();
  tell(report(1, 1, "exited", 0));
  ASSERT_EQ(logic->book().count(JobState::succeeded), 1);
  bool done = false;
  logic->remove_history({now.us, "age", {{1, "succeeded"}}}, now, [&](const Status& status) { done = status.ok(); });
  EXPECT_FALSE(done) << "before it is durable";
  settle();
  EXPECT_TRUE(done);
  EXPECT_EQ(logic->book().count(JobState::succeeded), 0);
  EXPECT_EQ(logic->book().find(JobId(1)), nullptr);
  EXPECT_EQ(world.events.back().kind, "history.removed");
  EXPECT_NE(world.events.back().data_json.find("\"jobs\":[1]"), std::string::npos);
}

// Else there would always be another old event to remove.
TEST_F(RemovalTest, of_old_events_alone_nothing_is_said) {
  hello(), settle();
  const std::size_t before = world.events.size();
  logic->remove_history({.at_us = now.us, .rule = "age", .jobs = {}, .events_until_us = 1}, now, [](const Status&) {});
  settle();
  EXPECT_EQ(world.events.size(), before);
}

}  // namespace
}  // namespace sl::controller::test
