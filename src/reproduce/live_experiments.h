// The experiments of the Schedulearn thesis at reduced size: one real training on a live cluster, repeated.
#pragma once

#include <string>
#include <vector>

#include "reproduce/live_result.h"

namespace sl::reproduce {

struct LiveExperiment {
  const char* name;        // of the published experiment
  const char* job_counts;  // the default, "1,5,10"; empty: fixed by the experiment
  // Errors: "bad-job" and "cluster-too-small", if the training or the cluster is unsuitable; and those of run_both.
  Result<LiveResult> (*run)(const LiveSetup&);
};
const std::vector<LiveExperiment>& live_experiments();
// Error "bad-flag", listing all experiments.
Result<const LiveExperiment*> find_live_experiment(const std::string& name);

}  // namespace sl::reproduce
