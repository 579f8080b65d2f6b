// How often the ranges hold that a live cluster would have shown (forecast/): a trace is replayed, and at many moments
// the present is continued with only what was known then, as the controller does. Later the truth is known.
//
// The plain alternative, asked in the same cases: what the earlier jobs of the user (of anybody, below three) took from
// submission to start or end, mean ± 1.28 standard deviations.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "forecast/record.h"
#include "policy/policy.h"
#include "sim/cluster.h"
#include "trace/trace.h"

namespace sl::study {

struct RangeStudy {
  sim::Cluster cluster;
  std::string policy_name;
  std::function<std::unique_ptr<Policy>()> make_policy;
  std::size_t moments = 400;  // spread evenly over the submissions
  std::size_t draws = forecast::draws_least;
  double warm_up = 0.2;  // part of the moments that do not count: nothing has been learnt yet
};

struct RangeScore {
  forecast::Target target = forecast::Target::start;
  std::string horizon;  // empty: all
  std::string method;
  std::size_t ranges = 0;
  std::size_t jobs = 0;        // different ones, that the ranges are about: those of one job hold or fail together
  double covered = 0;          // part that held the truth
  double early = 0, late = 0;  // the truth was before p10, after p90
  double width_s = 0;          // median
};

inline constexpr const char *as_shown = "forecast", *uncorrected = "forecast, uncorrected",
                            *plain_mean = "mean ± spread";

std::vector<RangeScore> score_ranges(const trace::Trace& trace, const RangeStudy& study);

}  // namespace sl::study
