// The figures of a trace: `trace info`.
#pragma once

#include <map>

#include "trace/trace.h"

namespace sl::trace {

struct WidthShare {
  std::int64_t jobs = 0;
  double gpu_s = 0;
};

struct TraceSummary {
  std::int64_t jobs = 0, users = 0;
  double first_s = 0, last_s = 0;  // submissions
  double gpu_s = 0;                // all jobs' GPUs times durations
  double duration_mean_s = 0, gap_mean_s = 0;
  std::vector<std::pair<double, double>> durations_s;  // percent, value: the smallest that this percentage does not
                                                       // exceed
  std::map<int, WidthShare> by_gpus;
  std::int64_t with_deadline = 0, with_estimate = 0, elastic = 0, sharing = 0, with_profile = 0;

  double span_s() const { return last_s - first_s; }
};

TraceSummary summarize(const Trace& trace);

// Work that arrives, relative to what `gpus` GPUs of the speed that durations refer to can do between the first and the
// last submission; 0 for a trace whose jobs are all submitted at once.
double offered_load(const Trace& trace, double gpus);

// Moves the submissions closer together or further apart, all by the same factor, so that this becomes the load on
// `gpus` such GPUs. The first submission stays where it is, and deadlines as far behind their jobs as they were. `load`
// is above 0. False, and nothing is changed, if all jobs are submitted at once.
bool set_load(Trace& trace, double gpus, double load);

}  // namespace sl::trace
