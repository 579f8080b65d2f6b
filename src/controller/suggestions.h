// What would make a waiting job start sooner, or a group end sooner, tried on the present (forecast/remedies.h) before it is
// suggested. In a long queue that takes seconds: the question is answered before, the trial goes on, and who asks again
// is told what it found.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "controller/answers.h"
#include "controller/forecasts.h"
#include "forecast/remedies.h"

namespace sl::controller {

struct Suggestions {
  std::vector<answers::Suggestion> items;
  std::string note;  // why there are none to tell; empty: all changes were tried
};

// Used by the core's thread.
class Suggester {
 public:
  Suggester(Forecasts& forecasts, const Logic& logic) : forecasts_(forecasts), logic_(logic) {}

  // Calls `done`, at the latest at `until`.
  void suggest(JobId job, Instant now, Instant until, std::function<void(Suggestions)> done);

 private:
  // What was found after its question had been answered, for the job and the policy as they were.
  struct Found {
    Instant at;
    std::string job_as_it_was;
    std::int64_t policy_since_us = 0;
    Suggestions suggestions;
  };
  const Found* found_before(const JobEntry& entry) const;
  void try_changes(const JobEntry& entry, const forecast::JobForecast& known, std::size_t draws, Instant now,
                   std::function<bool(const Suggestions&)> answer);

  Forecasts& forecasts_;
  const Logic& logic_;
  std::multiset<JobId> tried_now_;  // a job of a short queue for each who asks
  std::map<JobId, Found> found_;
};

}  // namespace sl::controller
