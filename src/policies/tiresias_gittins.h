// Tiresias with the Gittins index (policies.md 5.2): like tiresias, but inside a queue the job goes first that is most
// likely to end soon for what it costs, judged by how much GPU time past jobs took in all.
//
//   1 index(a) = P / E over past jobs that took more than a: P the share of them that end within the next `delta`
//     GPU-seconds, E the mean GPU time they take of it; 0 when no past job took more
//   2 order: queue (not with `pure`), then higher index, then earlier first start, then (submission, id)
//   3 jobs run in that order, preempting those behind them
//
// E averages what is left of each (its total minus a, at most delta), the highest index goes first, and all amounts are
// GPU-time, running or waiting. Ranks are worked out anew at every decision and at least every `gittins_tick_s`.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "policy/policy.h"

namespace sl {

// Past jobs' totals, sorted, and their sums up to each: an index costs two searches.
class GittinsSample {
 public:
  void clear() {
    totals_.clear();
    sums_.clear();
    fresh_.reset();
  }
  void add(double total);
  double index(double attained, double delta) const;

 private:
  double work_out(double attained, double delta) const;
  mutable std::optional<std::pair<double, double>> fresh_;  // delta and index of a job without service: most of them
  mutable std::vector<double> sums_;                        // sums_[i]: of the first i totals; worked out when asked
  std::vector<double> totals_;
};

PolicyEntry tiresias_gittins_entry();

}  // namespace sl
