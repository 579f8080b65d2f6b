// Where a command writes, before it does: it destroys nothing that it reads, and no output another one.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace sl::cli {

struct OutputPath {
  std::string flag;  // "--jobs-out"
  std::string path;  // empty: there is none
};

// `inputs` may hold names of other things (workloads, shapes of clusters). Pipes and devices are no files that could be
// destroyed. Errors "bad-flag", "not-a-file" (a directory).
Status check_outputs(const std::vector<OutputPath>& outputs, const std::vector<std::string>& inputs);

// The same of a folder for results of simulations (docs/formats/results.md), in which those of an earlier one are
// replaced.
Status check_result_folder(const std::string& folder, const std::vector<std::string>& inputs);

}  // namespace sl::cli
