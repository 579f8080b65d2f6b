// The names and definitions of the figures in results: one list for axes, captions and error messages.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "plot/results.h"
#include "plot/scale.h"

namespace sl::plot {

struct Quantity {
  std::string key;         // in a result: "avg_jct_s"
  std::string name;        // on an axis, without unit
  std::string definition;  // for the caption, may be empty
  Unit unit = Unit::none;
};

// A figure of one job, from jobs.csv.
struct JobQuantity {
  std::string word;  // of the command line
  Quantity quantity;
};
// jct, wait, slowdown, run. Error "unknown-metric".
Result<JobQuantity> find_job_quantity(const std::string& word);

// The figure of these results that `word` names: its key, the key without unit ("makespan"), or a common name
// ("turnaround"). Error "unknown-metric", listing all.
Result<Quantity> find_quantity(const std::string& word, const RunSet& runs);

// For a key without a description: words from the key, unit from its ending.
Quantity describe(const std::string& key);

}  // namespace sl::plot
