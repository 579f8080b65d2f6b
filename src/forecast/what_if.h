// Several policies continued from the same present, each in the same futures, and what that means for the jobs.
#pragma once

#include <string>
#include <vector>

#include "forecast/forecast.h"
#include "forecast/objective.h"

namespace sl::forecast {

struct Contender {
  std::string name;
  std::function<std::unique_ptr<Policy>()> make_policy;
};

// Of the jobs in one future. Those without an end do not count: of which nothing is known, held ones, and those that
// cannot run.
struct Figures {
  double wait_s = 0;  // mean, of jobs that wait now, since they were submitted
  double jct_s = 0;   // mean, of all, from submission to end
  double jct_p95_s = 0;
  double makespan_s = 0;   // from now to the last end
  double utilization = 0;  // part of the GPUs that are up which jobs hold until then
  double preemptions = 0, migrations = 0;
};

struct Trial {
  std::string name;
  Figures figures;           // each one the median over the futures: a few long futures do not move it
  std::vector<Costs> costs;  // of each future
  std::size_t draws = 0, jobs = 0;
  std::size_t unfinished = 0;                 // jobs that never end in some future: the figures are without them
  std::vector<JobForecast> forecasts;         // as Present::jobs
  std::optional<std::vector<Hold>> schedule;  // of one future, the same of all trials; only if `with_schedule`
  std::optional<Error> failure;               // of the policy; then the rest is empty
};

struct WhatIfSettings {
  Continue continue_present;
  // Futures end then: times are counted up to then, also those of jobs that have not started or ended, and Costs::late has
  // the deadlines up to then. The other costs need futures to their end.
  Instant until = Instant::never();
  // One future is shown as a schedule: the one in which the mean completion under the first contender is the median.
  bool with_schedule = false;
  std::uint64_t seed = 1;
  std::size_t draws = draws_least;
  std::function<bool(std::size_t draws)> is_enough = {};  // asked after each future of all contenders
  std::function<bool()> stop = {};
};

std::vector<Trial> what_if(const Present& present, const std::vector<Lengths::Prospect>& prospects,
                           const std::vector<Contender>& contenders, const WhatIfSettings& settings);

}  // namespace sl::forecast
