// `schedulearn reproduce ls|NAME|all`.
#pragma once

#include <functional>
#include <optional>
#include <ostream>
#include <string>

#include "base/result.h"

namespace sl::cli {

struct ReproduceOptions {
  std::string what = "ls";            // ls, all, or the name of an experiment
  std::string folder = "reproduced";  // NAME/ in it for each experiment, report.html for all
  std::optional<int> seeds;           // nothing: each experiment's own number
  std::string trace;                  // for those that take one; empty: generated
  bool json = false;
  bool quiet = false;  // print only names
  bool shows_progress = true;
  std::string command;                                       // as typed, for the files' origin
  std::function<bool()> interrupted = [] { return false; };  // called between experiments
};

// Runs the experiments, prints "published | ours | why different" and writes the files. False: interrupted. Errors:
// "unknown-experiment" with the list, "bad-flag", "cannot-write", those of a trace. Nothing is written before the names
// are checked.
Result<bool> run_reproduce(const ReproduceOptions& options, std::ostream& out, std::ostream& progress);

}  // namespace sl::cli
