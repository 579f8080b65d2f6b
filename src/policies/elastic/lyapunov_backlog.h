// The waiting jobs of lyapunov, kept so that a decision looks only at the few that can be worth most, and the sums over
// all of them. Sums are exact, so that they depend on the jobs and not on the order in which they came.
//
// What a start is worth grows with a job's length and with its waiting time, and nothing else adds to it. So jobs that
// have the same choice of GPUs stand in two lists, longest first and longest waiting first, and are read from both until
// what is left of either cannot be worth more than the best that were found (Fagin's threshold algorithm).
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "policies/elastic/lyapunov_choice.h"
#include "policy/ordered_jobs.h"

namespace sl {

// A sum of seconds in whole microseconds, for any number of jobs: adding and removing them in any order gives the same.
class ExactSeconds {
 public:
  void add(double seconds) { change(seconds, 1); }
  void remove(double seconds) { change(seconds, -1); }
  double value() const { return static_cast<double>(whole_) + static_cast<double>(rest_us_) * 1e-6; }

 private:
  void change(double seconds, int sign);
  std::int64_t whole_ = 0, rest_us_ = 0;
};

class LyapunovBacklog {
 public:
  explicit LyapunovBacklog(bool absolute) : absolute_(absolute) {}  // LyapunovSettings::absolute
  void clear() { *this = LyapunovBacklog(absolute_); }
  // The job waits; `figures` in seconds, without `waited` and `room`. Jobs of one shape find room in the same places.
  void insert(JobIndex index, const Job& job, std::uint32_t shape, const LyapunovJob& figures);
  void erase(JobIndex index);
  bool contains(JobIndex index) const { return kept_.contains(index) && kept_[index].waits; }
  std::size_t size() const { return size_; }
  const LyapunovJob& figures(JobIndex index) const { return kept_[index].figures; }
  Instant since(JobIndex index) const { return kept_[index].since; }
  std::uint32_t group_of(JobIndex index) const { return kept_[index].group; }

  double lengths_s() const { return lengths_.value(); }
  // The sum of the times that the jobs have waited at the beginning of this slot.
  double waited_s(Instant slot);
  // The largest part of its length by which time can lower the worth of any job's start, if v is 1.
  double penalty_most() const { return penalties_.empty() ? 0 : -penalties_.begin()->key.minus_penalty; }

  // Jobs with the same choice of GPUs and the same room.
  struct Group {
    std::uint32_t shape;
    int least, most;  // GPUs
    JobIndex any() const { return longest_first.begin()->job; }
    bool empty() const { return longest_first.empty(); }

    struct ByLength {
      double minus_length = 0;
      Instant submitted;
      JobId id;
      friend auto operator<=>(const ByLength&, const ByLength&) = default;
    };
    struct ByWait {
      Instant since, submitted;
      JobId id;
      friend auto operator<=>(const ByWait&, const ByWait&) = default;
    };
    OrderedJobs<ByLength> longest_first = {};
    OrderedJobs<ByWait> first_come_first = {};
  };
  const std::vector<Group>& groups() const { return groups_; }

  // Appends to `found` at least those `count` jobs of the group whose start on `gpus` GPUs is worth most; of equal ones,
  // those submitted first. `worth(job)` is that worth, `worth_at_most(length, since)` a bound for all jobs that are no
  // longer and have not waited for longer.
  template <typename Worth, typename Bound>
  void find_best(const Group& group, std::size_t count, Worth worth, Bound worth_at_most, std::vector<JobIndex>& found);

 private:
  struct Kept {
    LyapunovJob figures;
    Instant since, submitted;
    JobId id;
    std::uint32_t group = 0;
    std::uint64_t seen = 0;  // by which search
    bool waits = false;
  };
  struct ByPenalty {
    double minus_penalty = 0;
    JobId id;
    friend auto operator<=>(const ByPenalty&, const ByPenalty&) = default;
  };
  double penalty_of(const LyapunovJob& figures) const;

  IndexedVector<JobIndex, Kept> kept_;
  std::vector<Group> groups_;
  std::map<std::tuple<std::uint32_t, int, int>, std::uint32_t> known_groups_;
  OrderedJobs<ByPenalty> penalties_;  // jobs that have one
  ExactSeconds lengths_;
  std::uint64_t since_us_ = 0;     // their sum; it may overflow, the difference that counts does not
  std::vector<JobIndex> arrived_;  // perhaps within the present slot
  std::size_t size_ = 0;
  std::uint64_t search_ = 0;
  bool absolute_;
};

template <typename Worth, typename Bound>
void LyapunovBacklog::find_best(const Group& group, std::size_t count, Worth worth, Bound worth_at_most,
                                std::vector<JobIndex>& found) {
  const auto is_better = [this](const auto& a, const auto& b) {
    if (a.first != b.first) return a.first > b.first;
    const Kept &first = kept_[a.second], &second = kept_[b.second];
    return std::tie(first.submitted, first.id) < std::tie(second.submitted, second.id);
  };
  std::vector<std::pair<double, JobIndex>> best;  // a heap, the least of them first
  ++search_;
  const auto look_at = [&](JobIndex job) {
    if (std::exchange(kept_[job].seen, search_) == search_) return;
    best.emplace_back(worth(job), job);
    std::push_heap(best.begin(), best.end(), is_better);
    if (best.size() <= count) return;
    std::pop_heap(best.begin(), best.end(), is_better);
    best.pop_back();
  };
  auto by_length = group.longest_first.begin();
  auto by_wait = group.first_come_first.begin();
  for (; by_length != group.longest_first.end(); ++by_length, ++by_wait) {
    if (best.size() == count) {
      const Kept& least = kept_[best.front().second];
      const double length = -by_length->key.minus_length, at_most = worth_at_most(length, by_wait->key.since);
      // Of jobs that are alike both lists name the oldest first.
      const bool alike = least.figures.length == length && least.since == by_wait->key.since;
      if (best.front().first > at_most || (alike && best.front().first == at_most)) break;
    }
    look_at(by_length->job);
    look_at(by_wait->job);
  }
  for (const auto& [value, job] : best) found.push_back(job);
}

}  // namespace sl
