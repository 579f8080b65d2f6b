#include "forecast/arrivals.h"

#include <gtest/gtest.h>

namespace sl::forecast {
namespace {

RecentJob submitted(std::int64_t id, double seconds) {
  RecentJob job;
  job.request.id = JobId(id);
  job.request.submitted = Instant::at_seconds(seconds);
  job.request.time_limit = Duration::whole_seconds(60);
  return job;
}

TEST(Arrivals, come_as_they_came_in_as_long_a_time_before) {
  Present present;
  present.now = Instant::at_seconds(1'000);
  present.jobs.emplace_back().request.id = JobId(7);
  std::vector<Lengths::Prospect> prospects(1);
  const std::vector<RecentJob> recent = {submitted(1, 899), submitted(2, 900), submitted(3, 901), submitted(9, 1'000)};
  ASSERT_EQ(add_arrivals(present, prospects, recent, Duration::whole_seconds(100), {}), 2U);
  ASSERT_EQ(present.jobs.size(), 3U);
  ASSERT_EQ(prospects.size(), 3U);
  const JobRequest &first = present.jobs[1].request, &second = present.jobs[2].request;
  EXPECT_EQ(first.submitted, Instant::at_seconds(1'001));
  EXPECT_EQ(second.submitted, Instant::at_seconds(1'100));
  EXPECT_EQ(first.prerequisites->not_before, first.submitted);  // it may not start before it comes
  EXPECT_GT(first.id, JobId(9)) << "no number of a job that is known";
  EXPECT_GT(second.id, first.id);
  EXPECT_EQ(prospects[1].basis.kind, BasisKind::time_limit);
}

TEST(Arrivals, jobs_that_wait_for_others_and_members_of_arrays_do_not_come_again) {
  Present present;
  present.now = Instant::at_seconds(1'000);
  std::vector<Lengths::Prospect> prospects;
  RecentJob member = submitted(2, 990), dependent = submitted(3, 990);
  member.request.member_of = JobId(1);
  dependent.request.prerequisites = std::make_shared<const Prerequisites>(Prerequisites{.after = {JobId(2)}});
  EXPECT_EQ(add_arrivals(present, prospects, {member, dependent}, Duration::whole_seconds(100), {}), 0U);
  EXPECT_TRUE(present.jobs.empty());
}

TEST(Arrivals, deadlines_come_later_too) {
  Present present;
  present.now = Instant::at_seconds(1'000);
  std::vector<Lengths::Prospect> prospects;
  RecentJob job = submitted(1, 990);
  job.request.deadline = Instant::at_seconds(1'050);
  add_arrivals(present, prospects, {job}, Duration::whole_seconds(100), {});
  EXPECT_EQ(present.jobs.front().request.deadline, Instant::at_seconds(1'150));
}

}  // namespace
}  // namespace sl::forecast
