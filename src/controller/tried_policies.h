// Other policies continued from the live present, each in the same futures as the one in force (forecast/what_if.h).
#pragma once

#include <functional>
#include <vector>

#include "controller/forecasts.h"
#include "controller/job_book.h"
#include "controller/policy_answers.h"
#include "forecast/what_if.h"

namespace sl::controller {

struct TriedPolicies {
  std::vector<std::string> servers;     // by index
  std::vector<forecast::Trial> trials;  // the one in force first
  std::vector<JobId> jobs;              // as the trials' forecasts
  std::vector<std::string> users;       // likewise
  std::size_t arrivals = 0;             // jobs that came in each future
  std::vector<JobId> unknown;           // left out: nothing is known about their lengths
  Instant at;
  Duration took;
};

// `arrivals`: for so long, jobs come as they came in as long a time before; 0: none comes, as in other forecasts. Called on
// the core's thread, as is `done`. Errors: those of making a policy; "no-forecasts"; "forecasts-busy"; "too-many-trials".
struct TrialWishes {
  std::vector<PolicyChange> policies;
  Duration arrivals = {};  // shorter if no job is known that came so long ago
  bool with_schedule = false;
  Duration until = {};  // futures end so much later (WhatIfSettings::until); 0: they have no end
};
void try_on_present(Forecasts& forecasts, TrialWishes wishes, Instant now,
                    std::function<void(Result<TriedPolicies>)> done);

// `user`: whose jobs are listed one by one.
answers::Tried tried_view(const TriedPolicies& tried, const std::string& user, const JobBook& book);

}  // namespace sl::controller
