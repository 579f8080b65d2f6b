// What the numbers of results are called and how they are defined: one list for axes, captions and error texts.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "plot/results.h"
#include "plot/scale.h"

namespace sl::plot {

struct Quantity {
  std::string key;         // of a result: "avg_jct_s"
  std::string name;        // on an axis, without unit
  std::string definition;  // for the caption, may be empty
  Unit unit = Unit::none;
};

// What a job takes, from jobs.csv.
struct JobQuantity {
  std::string word;  // of the command line
  Quantity quantity;
};
// jct, wait, slowdown, run. Error "unknown-metric".
Result<JobQuantity> find_job_quantity(const std::string& word);

// The figure of these results that `word` means: its key, the key without unit ("makespan"), or a common name
// ("turnaround"). Error "unknown-metric", listing all.
Result<Quantity> find_quantity(const std::string& word, const RunSet& runs);

// A key that nobody has described: words from the key, unit from its ending.
Quantity describe(const std::string& key);

}  // namespace sl::plot
