#include "forecast/what_if.h"

#include <gtest/gtest.h>

namespace sl::forecast {
namespace {

TEST(WhatIf, a_figure_is_the_median_over_the_futures) {
  Present present;
  present.now = Instant::at_seconds(1'000);
  present.jobs.resize(1);
  present.jobs.front().request.submitted = present.now;
  const std::vector<Lengths::Prospect> prospects(1, {.basis = {.kind = BasisKind::time_limit}, .limit_s = 100});
  const std::vector<double> ends_s = {30, 20, 4'000};
  std::size_t draw = 0;
  const auto one_of_three = [&](const Present&, std::unique_ptr<Policy>, const FutureSettings&) {
    const Instant finish = present.now + Duration::seconds(ends_s.at(draw));
    Future future{.jobs = {{.start = finish, .finish = finish}}};
    future.preemptions = future.migrations = static_cast<int>(draw++);
    return future;
  };
  const auto trials = what_if(present, prospects, {{"fifo", [] { return nullptr; }}},
                              {.continue_present = one_of_three, .draws = ends_s.size()});
  const Figures& figures = trials.front().figures;
  EXPECT_EQ(figures.wait_s, 30);
  EXPECT_EQ(figures.jct_s, 30);
  EXPECT_EQ(figures.jct_p95_s, 30);
  EXPECT_EQ(figures.makespan_s, 30);
  EXPECT_EQ(figures.preemptions, 1);
  EXPECT_EQ(figures.migrations, 1);
}

TEST(WhatIf, jobs_that_a_policy_never_ends_are_counted) {
  Present present;
  present.now = Instant::at_seconds(1'000);
  present.jobs.resize(3);
  for (Job& job : present.jobs) job.request.submitted = present.now;
  present.jobs.back().on_hold = true;
  const std::vector<Lengths::Prospect> prospects(3, {.basis = {.kind = BasisKind::time_limit}, .limit_s = 100});
  const auto first_only = [&](const Present&, std::unique_ptr<Policy>, const FutureSettings&) {
    const Future::Of ended{.start = present.now, .finish = present.now + Duration::seconds(10)};
    return Future{.jobs = {ended,
                           {.start = Instant::never(), .finish = Instant::never()},
                           {.start = Instant::never(), .finish = Instant::never()}}};
  };
  const auto trials =
      what_if(present, prospects, {{"lazy", [] { return nullptr; }}}, {.continue_present = first_only, .draws = 1});
  EXPECT_EQ(trials.front().jobs, 1U);
  EXPECT_EQ(trials.front().unfinished, 1U) << "the one that is held waits for its user";
}

}  // namespace
}  // namespace sl::forecast
