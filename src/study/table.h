// A comparison as a table for people: the best first, each column in one unit, notes folded.
#pragma once

#include <ostream>

#include "study/experiment.h"

namespace sl::study {

struct TableStyle {
  std::size_t columns = 0;  // of the terminal; what is wider continues below; 0: no limit
  bool notes = false;       // print all notes, not only how many there are
};

// Rows by number of jobs, then by policy, then by parameters; policies and parameters in the order of the first metric.
// Policies under which jobs failed or were left unfinished come last.
void print_table(const ExperimentSettings& settings, const ExperimentResult& result,
                 const std::vector<const MetricInfo*>& metrics, const TableStyle& style, std::ostream& out);

// "max_min (200 jobs) (seed 3)"
std::string run_name(const ExperimentSettings& settings, const ExperimentRow& row);

}  // namespace sl::study
