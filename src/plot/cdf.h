// `plot cdf`: the share of jobs whose value is at most x.
#pragma once

#include <string>
#include <vector>

#include "plot/quantities.h"

namespace sl::plot {

// One line: the values of the jobs that have one, ascending.
struct JobSample {
  std::string name;
  std::vector<double> values;
  std::size_t jobs = 0;  // number of jobs in the file, including those that never started or finished
};

// Reads jobs.csv. Errors of CSV, "missing-column", "empty-data" (no job at all).
Result<JobSample> read_sample(const std::string& path, const std::string& name, const JobQuantity& quantity);

// A step line: at each distinct value it rises to the percentage of the jobs at or below it, from (least, 0).
std::vector<Point> cumulative(const JobSample& sample);

enum class XScale {
  automatic,
  linear,
  logarithmic
};  // automatic: logarithmic if the values span more than two
    // decades

// Error "empty-data" if no job of any sample has a value.
Result<Figure> cdf_figure(const JobQuantity& quantity, const std::vector<JobSample>& samples, XScale scale);

}  // namespace sl::plot
