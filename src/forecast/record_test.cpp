#include "forecast/record.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "estimate/length_distribution.h"

namespace sl::forecast {
namespace {

const Instant start = Instant::at_seconds(1'000'000);

Range range_of(Instant at, double p10, double p50, double p90) {
  return {at + Duration::seconds(p10), at + Duration::seconds(p50), at + Duration::seconds(p90)};
}

Shown shown_of(std::int64_t job, Instant at, const Range& raw, const Range& range) {
  return {.job = JobId(job),
          .target = Target::finish,
          .policy = "fifo",
          .basis = "history:3",
          .at = at,
          .raw = raw,
          .range = range};
}

// Jobs whose time is log-normally distributed about 1000 s with spread 0.5, while ranges believe in `believed`. Returns
// the share of the second half that held.
double share_held(double believed) {
  constexpr double z = 1.2816;
  Record record;
  Random random(3);
  Instant clock = start;
  std::size_t held = 0, late = 0;
  for (int job = 1; job <= 2'000; ++job) {
    const auto at_z = [&](double by) { return 1'000 * std::exp(believed * by); };
    const Range raw = range_of(clock, at_z(-z), 1'000, at_z(z));
    const Range range = record.corrected(Target::finish, raw, clock);
    record.show(shown_of(job, clock, raw, range));
    const Instant actual = clock + Duration::seconds(1'000 * std::exp(0.5 * normal(random)));
    if (job > 1'000) held += range.p10 <= actual && actual <= range.p90, ++late;
    record.happened(JobId(job), Target::finish, actual);
    clock = clock + Duration::whole_seconds(60);
    record.judge(clock);
  }
  return static_cast<double>(held) / static_cast<double>(late);
}

TEST(Record, ranges_that_were_too_narrow_are_widened_and_ranges_that_were_too_wide_narrowed) {
  EXPECT_NEAR(share_held(0.5), 0.8, 0.05);
  EXPECT_NEAR(share_held(0.1), 0.8, 0.05);
  EXPECT_NEAR(share_held(2.0), 0.8, 0.05);
}

// One job every two seconds, each in ten seconds within a second, while ranges say four to twenty-five.
TEST(Record, where_jobs_take_seconds_ranges_are_corrected_within_two_minutes) {
  Record record;
  Random random(3);
  const auto raw = [](Instant at) { return range_of(at, 4, 10, 25); };
  Instant clock = start;
  for (int job = 1; job <= 60; ++job, clock = clock + Duration::whole_seconds(2)) {
    record.judge(clock);
    record.show(shown_of(job, clock, raw(clock), record.corrected(Target::finish, raw(clock), clock)));
    record.happened(JobId(job), Target::finish, clock + Duration::seconds(10 + normal(random)));
  }
  const Range corrected = record.corrected(Target::finish, raw(clock), clock);
  EXPECT_LT((corrected.p90 - corrected.p10).to_seconds(), 6);
  EXPECT_GT((corrected.p90 - corrected.p10).to_seconds(), 1);
  // Nothing was learnt of what is hours ahead.
  EXPECT_EQ(record.correction(Target::finish, Horizon::day).ranges, 0U);
  const Range of_hours = range_of(clock, 3'600, 7'200, 14'400);
  EXPECT_EQ(record.corrected(Target::finish, of_hours, clock), of_hours);
}

TEST(Record, no_correction_makes_a_range_of_centuries) {
  Record record;
  Instant clock = start;
  const auto raw = [](Instant at) { return range_of(at, 3'600, 7'200, 14'400); };
  for (int job = 1; job <= 60; ++job, clock = clock + Duration::whole_seconds(3'600)) {
    record.judge(clock);
    record.show(shown_of(job, clock, raw(clock), raw(clock)));
    record.happened(JobId(job), Target::finish, clock + Duration::seconds(1e9));
  }
  EXPECT_GT(record.correction(Target::finish, Horizon::six_hours).high, 10);
  const Range corrected = record.corrected(Target::finish, raw(clock), clock);
  EXPECT_LT((corrected.p90 - clock).to_seconds(), 7'210 * 100 + 1);
}

TEST(FitTogether, a_job_starts_when_it_may_ends_after_that_and_within_its_limit) {
  JobForecast job{.job = JobId(1),
                  .start = range_of(start, 10, 100, 1'000),
                  .finish = range_of(start, 5, 90, 90'000),
                  .basis = {},
                  .server = {},
                  .earliest = start + Duration::seconds(60),
                  .longest = Duration::seconds(600)};
  fit_together(job, start);
  EXPECT_EQ(*job.start, range_of(start, 60, 100, 1'000));
  EXPECT_EQ(*job.finish, range_of(start, 60, 100, 1'600));
  JobForecast running{
      .job = JobId(2), .start = {}, .finish = range_of(start, 5, 90, 90'000), .basis = {}, .server = {}};
  running.longest = Duration::seconds(30);
  fit_together(running, start);
  EXPECT_EQ(*running.finish, range_of(start, 5, 30, 30));
}

// A thousand ranges of one moment are about one queue.
TEST(Record, many_ranges_of_one_moment_correct_nothing) {
  Record record;
  for (int job = 1; job <= 1'000; ++job) {
    const Range raw = range_of(start, 0.5 * job, job, 2 * job);
    record.show(shown_of(job, start, raw, raw));
    record.happened(JobId(job), Target::finish, start + Duration::seconds(3 * job));
  }
  const Instant later = start + Duration::whole_seconds(10'000);
  record.judge(later);
  for (const double ahead_s : {1, 30, 500}) {
    const Range raw = range_of(later, 0.5 * ahead_s, ahead_s, 2 * ahead_s);
    EXPECT_EQ(record.corrected(Target::finish, raw, later), raw) << ahead_s;
  }
}

TEST(Record, few_ranges_correct_nothing) {
  Record record;
  const Range raw = range_of(start, 50, 100, 200);
  EXPECT_EQ(record.corrected(Target::finish, raw, start), raw);
  EXPECT_EQ(record.correction(Target::finish, Horizon::hour).ranges, 0U);
}

TEST(Record, keeps_the_first_range_of_a_job_and_another_when_what_is_left_has_halved) {
  Record record;
  for (int s = 0; s < 1'000; s += 10) {
    const Instant at = start + Duration::whole_seconds(s);
    const Range range = range_of(at, 0.9 * (1'000 - s), 1'000 - s, 1.1 * (1'000 - s));
    record.show(shown_of(1, at, range, range));
  }
  EXPECT_EQ(record.take_changed().size(), 7U);  // 1000, 500, 250, 120, 60, 30 and 10 s before the end
}

TEST(Record, a_range_counts_once_its_time_is_over) {
  Record record;
  const Range range = range_of(start, 50, 100, 200);
  record.show(shown_of(1, start, range, range));
  record.happened(JobId(1), Target::finish, start + Duration::whole_seconds(10));
  record.judge(start + Duration::whole_seconds(20));
  EXPECT_TRUE(record.hit_rates().empty());
  record.judge(start + Duration::whole_seconds(201));
  ASSERT_EQ(record.hit_rates().size(), 1U);
  EXPECT_EQ(record.hit_rates().front().early, 1U);
  EXPECT_EQ(record.hit_rates().front().held, 0U);
}

TEST(Record, a_job_that_does_not_end_counts_as_late) {
  Record record;
  const Range range = range_of(start, 50, 100, 200);
  record.show(shown_of(1, start, range, range));
  record.judge(start + Duration::whole_seconds(401));
  ASSERT_EQ(record.hit_rates().size(), 1U);
  EXPECT_EQ(record.hit_rates().front().late, 1U);
}

TEST(Record, cancelled_jobs_do_not_count) {
  Record record;
  const Range range = range_of(start, 50, 100, 200);
  record.show(shown_of(1, start, range, range));
  record.take_changed();
  record.forget(JobId(1));
  const auto changed = record.take_changed();
  ASSERT_EQ(changed.size(), 1U);
  EXPECT_TRUE(changed.front().is_void);
  record.judge(start + Duration::whole_seconds(10'000));
  EXPECT_TRUE(record.hit_rates().empty());
}

TEST(Record, continues_with_what_was_shown_before) {
  Record before;
  const Range range = range_of(start, 50, 100, 200);
  before.show(shown_of(1, start, range, range));
  before.happened(JobId(1), Target::finish, start + Duration::whole_seconds(120));
  Record after;
  after.restore(before.take_changed());
  after.judge(start + Duration::whole_seconds(300));
  ASSERT_EQ(after.hit_rates().size(), 1U);
}

TEST(Record, is_bounded) {
  Record record;
  for (std::int64_t job = 0; job < 30'000; ++job) {
    const Range range = range_of(start, 50, 100, 200);
    record.show(shown_of(job, start, range, range));
  }
  EXPECT_EQ(record.waiting(), Record::kept_most);
}

}  // namespace
}  // namespace sl::forecast
