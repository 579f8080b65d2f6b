// Tiresias with the Gittins index (policies.md 5.2): like tiresias, but within a queue the job goes first that is most
// likely to end soon for its cost, judged by the total GPU time of past jobs.
//
//   1 index(a) = P / E over past jobs that took more than a: P is the share of them that end within the next `delta`
//     GPU-seconds, E the mean GPU time they take of it; 0 if no past job took more
//     (of those that the core remembers, the oldest n, where n grows in steps of 1/128 to 1/64 of it: another sample is
//     another index for every job that waits, and a job more among thousands tells nothing new)
//   2 order: queue (not with `pure`), then higher index, then earlier first start, then (submission, id)
//   3 jobs run in that order, preempting those behind them, and are placed as by tiresias
//
// E averages what is left of each (its total minus a, at most delta), the highest index goes first, and all amounts are
// GPU time, whether running or waiting. Ranks are computed anew at every decision and at least every `gittins_tick_s`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "policy/policy.h"

namespace sl {

// Past jobs' totals, sorted, with cumulative sums: an index costs two searches, each among the totals that are alike.
class GittinsSample {
 public:
  void clear() {
    totals_.clear();
    sums_.clear();
    fresh_.reset();
  }
  void add(double total);
  double index(double attained, double delta) const;
  // No more than the index of any amount from `attained` up to, not including, `until`; close to it if that is not far.
  double index_at_least(double attained, double until, double delta) const;

 private:
  void tabulate() const;
  std::size_t up_to(double amount) const;  // the number of totals that are at most that
  double spent(double attained, double delta, std::size_t from, std::size_t soon) const;
  double work_out(double attained, double delta) const;
  mutable std::optional<std::pair<double, double>> fresh_;  // delta and index of a job without service: most of them
  mutable std::vector<double> sums_;                        // sums_[i]: of the first i totals; made when needed, like
  mutable std::vector<std::size_t> steps_;                  // the number of totals below each step, up to the greatest
  std::vector<double> totals_;
};

// How many of `finished` jobs are the sample.
std::size_t gittins_sample_size(std::size_t finished);

PolicyEntry tiresias_gittins_entry();

}  // namespace sl
