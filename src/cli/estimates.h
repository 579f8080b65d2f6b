// `schedulearn estimates losses|run-times|speeds`: how good predictions are on what really happened.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "base/result.h"

namespace sl::cli {

struct EstimatesCommand {
  std::string source;                  // losses: CSV; run-times: trace or workload
  std::string half = "judge";          // losses: fit, judge or all
  std::vector<double> seen{0.4, 0.6};  // losses: the parts of a training that are known
  bool json = false;
};

Status estimates_losses(const EstimatesCommand& command, std::ostream& out);
Status estimates_run_times(const EstimatesCommand& command, std::ostream& out);
Status estimates_speeds(const EstimatesCommand& command, std::ostream& out);

}  // namespace sl::cli
