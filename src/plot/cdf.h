// `plot cdf`: which share of the jobs needed at most so long.
#pragma once

#include <string>
#include <vector>

#include "plot/quantities.h"

namespace sl::plot {

// One line: a value for each job that has one, ascending.
struct JobSample {
  std::string name;
  std::vector<double> values;
  std::size_t jobs = 0;  // of the file, also those that never started or finished
};

// Reads jobs.csv. Errors of CSV, "missing-column", "empty-data" (no job at all).
Result<JobSample> read_sample(const std::string& path, const std::string& name, const JobQuantity& quantity);

// A step line: at each distinct value it rises to the percentage of the jobs at or below it, from (least, 0).
std::vector<Point> cumulative(const JobSample& sample);

enum class XScale { automatic, linear, logarithmic };  // automatic: log where the values span more than two decades

// Error "empty-data" where no job of any sample has a value.
Result<Figure> cdf_figure(const JobQuantity& quantity, const std::vector<JobSample>& samples, XScale scale);

}  // namespace sl::plot
