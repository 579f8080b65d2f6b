// What would make a waiting job start sooner, or a group end sooner, tried on the present (forecast/remedies.h) before it is
// suggested. In a long queue that takes seconds: the question is answered before, the trial goes on, and who asks again
// is told what it found.
#pragma once

#include <functional>
#include <map>
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
  // In a long queue, for the job and the policy as they were.
  struct Found {
    Instant at;
    std::string job_as_it_was;
    std::int64_t policy_since_us = 0;
    Suggestions suggestions;
  };
  const Found* found_before(const JobEntry& entry) const;

  Forecasts& forecasts_;
  const Logic& logic_;
  JobId tried_now_;  // in a long queue, one at a time; none: no job
  std::map<JobId, Found> found_;
};

}  // namespace sl::controller
