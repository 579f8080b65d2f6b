// `schedulearn reproduce NAME --real JOBFILE`: the same training again and again on the live cluster, simulated beside
// real.
#pragma once

#include <string>

#include "cli/context.h"

namespace sl::cli {

struct RealOptions {
  std::string experiment;
  std::string job_file;    // a small training; keeps nothing that its next run would find
  std::string job_counts;  // empty: as the experiment says
  std::string folder;
  std::string command;  // as it was typed
};

// Switches the live policy and puts it back. Refuses a cluster that has unfinished jobs. Ctrl-C: jobs that were handed
// in go on, the policy is put back.
int reproduce_real(const Context& context, const RealOptions& options);

}  // namespace sl::cli
