// `schedulearn estimates losses|run-times|ranges|speeds`: how good predictions are on what really happened.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "base/result.h"

namespace sl::cli {

struct EstimatesCommand {
  std::string source;                             // losses: CSV; run-times: trace or workload
  std::string half = "judge";                     // losses: fit, judge or all
  std::vector<double> seen{0.4, 0.6};             // losses: the parts of a training that are known
  std::string servers = "32x8", policy = "fifo";  // ranges: where the trace is replayed
  std::size_t moments = 400;                      // ranges: at which it is asked
  std::size_t jobs = 0;                           // ranges: only the first of the trace; 0: all
  bool json = false;
};

Status estimates_losses(const EstimatesCommand& command, std::ostream& out);
Status estimates_run_times(const EstimatesCommand& command, std::ostream& out);
Status estimates_ranges(const EstimatesCommand& command, std::ostream& out);
Status estimates_speeds(const EstimatesCommand& command, std::ostream& out);

}  // namespace sl::cli
