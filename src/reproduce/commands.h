// `schedulearn reproduce ls|NAME|all`.
#pragma once

#include <functional>
#include <ostream>
#include <string>

#include "base/result.h"

namespace sl::reproduce {

struct ReproduceOptions {
  std::string what = "ls";            // ls, all, or the name of an experiment
  std::string folder = "reproduced";  // NAME/ in it for each, report.html for all
  int seeds = 0;                      // 0: as many as each experiment says
  std::string trace;                  // for philly; empty: looked for, else made
  bool json = false;
  bool quiet = false;
  std::string command;                                       // as it was typed, for the files' origin
  std::function<bool()> interrupted = [] { return false; };  // asked between experiments
};

// Runs, prints "published | ours | why different" and writes the files. False: interrupted. Errors:
// "unknown-experiment" with all there are, "bad-flag", "cannot-write", those of a trace. Nothing is written before the
// names are checked.
Result<bool> reproduce(const ReproduceOptions& options, std::ostream& out, std::ostream& progress);

}  // namespace sl::reproduce
