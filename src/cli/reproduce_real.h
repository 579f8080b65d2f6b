// `schedulearn reproduce NAME --real JOBFILE`: the same training, repeated on the live cluster and compared with the
// simulation.
#pragma once

#include <string>

#include "cli/context.h"

namespace sl::cli {

struct RealOptions {
  std::string experiment;
  std::string job_file;    // a small training that keeps nothing which its next run would find
  std::string job_counts;  // empty: the experiment's own
  std::string folder;
  std::string command;  // as typed
};

// Switches the live policy and restores it. Refuses a cluster with unfinished jobs. Ctrl-C: submitted jobs keep
// running, the policy is restored.
int reproduce_real(const Context& context, const RealOptions& options);

}  // namespace sl::cli
