// The experiments of the Schedulearn thesis at reduced size: one real training on a live cluster, again and again.
#pragma once

#include <string>
#include <vector>

#include "reproduce/live_result.h"

namespace sl::reproduce {

struct LiveExperiment {
  const char* name;        // of the published one
  const char* job_counts;  // unless asked otherwise, "1,5,10"; empty: it says itself how many
  // Errors: "bad-job" and "cluster-too-small", where training or cluster do not serve; those of run_both.
  Result<LiveResult> (*run)(const LiveSetup&);
};
const std::vector<LiveExperiment>& live_experiments();
// Error "bad-flag", with all there are.
Result<const LiveExperiment*> find_live_experiment(const std::string& name);

}  // namespace sl::reproduce
