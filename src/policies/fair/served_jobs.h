// Jobs that wait and have run before, so that the one that has run for the smallest part of its life is found among
// many. As they wait, each falls behind at a pace of its own, so no order of them lasts. They are kept in small chunks;
// of each chunk it is known how far its jobs can have fallen behind by now, and only those that may hold the next job
// are looked at.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "model/job.h"

namespace sl {

class ServedJobs {
 public:
  struct Served {
    JobIndex job;
    std::uint32_t entry = 0;  // tells this stay in the line from others of the same job
    Instant submitted;
    double had_s = 0;  // how long it has run
  };

  static constexpr double never_run = 1e9;  // counts as having run for one part in so many

  // How many times longer than it has run a job has been there.
  static double life_per_run(double life_s, double had_s) {
    return had_s <= 0 || life_s <= 0 ? never_run : life_s / had_s;
  }

  // No less than life_per_run() of any of some jobs, from `since` on.
  struct Bound {
    Instant since;
    double value = 0, slope = 0;  // at `since`, and per second from then on

    double at(Instant now) const { return value + slope * (now - since).to_seconds(); }
    void cover(const Served& job) {
      value = std::max(value, life_per_run((since - job.submitted).to_seconds(), job.had_s));
      if (job.had_s > 0) slope = std::max(slope, 1 / job.had_s);
    }
  };

  struct Chunk {
    static constexpr std::size_t max = 64;
    std::vector<Served> jobs;
    Bound bound;

    // visit(job) for each job of which still_waits(job), in no order; the others are removed for good.
    template <typename StillWaits, typename Visit>
    void visit(Instant now, StillWaits still_waits, Visit visit_job) {
      std::erase_if(jobs, [&](const Served& job) { return !still_waits(job); });
      bound = {now};
      for (const Served& job : jobs) {
        bound.cover(job);
        visit_job(job);
      }
    }
  };

  void add(const Served& job, Instant now) {
    if (chunks_.empty() || chunks_.back().jobs.size() >= Chunk::max) chunks_.push_back({{}, {now}});
    chunks_.back().jobs.push_back(job);
    chunks_.back().bound.cover(job);
  }
  bool empty() const { return chunks_.empty(); }

  // A chunk to be visited, with what bounds it now.
  struct Due {
    double at_most = 0;
    Chunk* chunk = nullptr;
    friend bool operator<(const Due& a, const Due& b) { return a.at_most < b.at_most; }
  };
  // All chunks as a heap, the first to visit in front. Once each has been visited some times, they are made anew of
  // jobs that are behind alike.
  template <typename StillWaits>
  std::vector<Due> due(Instant now, StillWaits still_waits) {
    if (visited_ > 4 * chunks_.size()) {
      visited_ = 0;
      make_chunks(now, still_waits);
    }
    std::vector<Due> due;
    due.reserve(chunks_.size());
    for (Chunk& chunk : chunks_) due.push_back({chunk.bound.at(now), &chunk});
    std::make_heap(due.begin(), due.end());
    return due;
  }
  // Takes the first from the heap.
  Chunk& take(std::vector<Due>& due) {
    std::pop_heap(due.begin(), due.end());
    Chunk& chunk = *due.back().chunk;
    due.pop_back();
    ++visited_;
    return chunk;
  }

 private:
  template <typename StillWaits>
  void make_chunks(Instant now, StillWaits still_waits) {
    std::vector<std::pair<double, Served>> jobs;  // with minus how far behind each is
    for (const Chunk& chunk : chunks_) {
      for (const Served& job : chunk.jobs) {
        if (still_waits(job)) jobs.emplace_back(-life_per_run((now - job.submitted).to_seconds(), job.had_s), job);
      }
    }
    std::ranges::sort(jobs, {}, [](const auto& job) { return std::pair(job.first, job.second.job); });
    chunks_.clear();
    for (const auto& [rank, job] : jobs) add(job, now);
  }

  std::vector<Chunk> chunks_;
  std::size_t visited_ = 0;  // chunks, since they were made
};

}  // namespace sl
