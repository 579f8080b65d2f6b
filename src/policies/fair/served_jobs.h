// Jobs that wait and have run before, so that the one that has run for the smallest part of its life is found among
// many. As they wait, each falls behind at a pace of its own, so no order of them lasts. They are kept in small chunks
// of jobs that are about as far behind; of each chunk it is known which job comes first, or how far its jobs can have
// fallen behind by now, and only chunks that may hold the next job are looked at.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "model/job.h"

namespace sl {

class ServedJobs {
 public:
  static constexpr double never_run = 1e9;  // counts as having run for one part in so many

  // How many times longer than it has run a job has been there.
  static double life_per_run(double life_s, double had_s) {
    return had_s <= 0 || life_s <= 0 ? never_run : life_s / had_s;
  }

  struct Served {
    JobIndex job;
    std::uint32_t entry = 0;  // tells this stay in the line from others of the same job
    Instant submitted;
    JobId id;
    double had_s = 0;  // how long it has run

    double life_s(Instant now) const { return (now - submitted).to_seconds(); }
    double behind(Instant now) const { return life_per_run(life_s(now), had_s); }
    bool is_before(const Served& other) const {  // by submission
      return std::tie(submitted, id) < std::tie(other.submitted, other.id);
    }
  };

  class Chunk {
   public:
    const std::vector<Served>& jobs() const { return jobs_; }

    // The job that none of the others will ever go before: it was submitted before them and has run no longer than any.
    // It may have left meanwhile. Null if there is no such job.
    const Served* first() const { return can_be_compared_ && first_.had_s <= had_least_s_ ? &first_ : nullptr; }
    // No less than behind() of any of them, but for rounding.
    double at_most(Instant now) const { return most_ + (now - since_).to_seconds() / had_least_s_; }

    // visit(job) for each job of which still_waits(job), in no order; the others are removed for good.
    template <typename StillWaits, typename Visit>
    void visit(Instant now, StillWaits still_waits, Visit visit_job) {
      std::erase_if(jobs_, [&](const Served& job) { return !still_waits(job); });
      look_at_all(now);
      for (const Served& job : jobs_) visit_job(job);
    }

   private:
    friend class ServedJobs;

    void add(const Served& job, Instant now) {
      if (jobs_.empty()) look_at_all(now);
      most_ = at_most(now), since_ = now;
      jobs_.push_back(job);
      look_at(job);
    }
    void look_at_all(Instant now) {
      first_ = {.submitted = Instant::never()};
      since_ = now;
      most_ = 0;
      had_least_s_ = std::numeric_limits<double>::infinity();
      can_be_compared_ = true;
      for (const Served& job : jobs_) look_at(job);
    }
    void look_at(const Served& job) {
      most_ = std::max(most_, job.behind(since_));
      if (job.had_s > 0) had_least_s_ = std::min(had_least_s_, job.had_s);
      can_be_compared_ = can_be_compared_ && job.had_s > 0 && job.submitted < since_;
      if (job.is_before(first_)) first_ = job;
    }
    // Its second half, by who is further behind now, which leaves it.
    Chunk take_half(Instant now) {
      std::ranges::sort(jobs_, [&](const Served& a, const Served& b) { return is_further_behind(a, b, now); });
      const auto half = jobs_.begin() + static_cast<std::ptrdiff_t>(jobs_.size() / 2);
      Chunk rest;
      rest.jobs_.assign(half, jobs_.end());
      rest.look_at_all(now);
      jobs_.erase(half, jobs_.end());
      look_at_all(now);
      return rest;
    }

    std::vector<Served> jobs_;
    Served first_;     // submitted before all others
    Instant since_;    // of the following
    double most_ = 0;  // behind()
    double had_least_s_ = std::numeric_limits<double>::infinity();
    bool can_be_compared_ = true;  // all have run, and have been there for some time
  };

  void add(const Served& job, Instant now) {
    const auto after = std::partition_point(chunks_.begin(), chunks_.end(),
                                            [&](const Chunk& chunk) { return !is_after(chunk, job, now); });
    const auto at = after != chunks_.begin() ? after - 1 : after != chunks_.end() ? after : chunks_.emplace(after);
    at->add(job, now);
    if (at->jobs_.size() > chunk_max) chunks_.insert(at + 1, at->take_half(now));
  }
  bool empty() const { return chunks_.empty(); }

  // All chunks, about in the order of their jobs: they are made anew once each has been visited some times.
  template <typename StillWaits>
  std::vector<Chunk>& chunks(Instant now, StillWaits still_waits) {
    std::erase_if(chunks_, [](const Chunk& chunk) { return chunk.jobs_.empty(); });
    if (visited_ > 4 * chunks_.size()) make_chunks(now, still_waits);
    return chunks_;
  }
  template <typename StillWaits, typename Visit>
  void visit(Chunk& chunk, Instant now, StillWaits still_waits, Visit visit_job) {
    ++visited_;
    chunk.visit(now, still_waits, visit_job);
  }

 private:
  static constexpr std::size_t chunk_max = 64;

  static bool is_further_behind(const Served& a, const Served& b, Instant now) {
    const double of_a = a.behind(now), of_b = b.behind(now);
    return of_a != of_b ? of_a > of_b : a.is_before(b);
  }
  static bool is_after(const Chunk& chunk, const Served& job, Instant now) {
    const Served* first = chunk.first();
    return first ? is_further_behind(job, *first, now) : chunk.at_most(now) < job.behind(now);
  }

  template <typename StillWaits>
  void make_chunks(Instant now, StillWaits still_waits) {
    std::vector<std::pair<double, Served>> jobs;
    for (const Chunk& chunk : chunks_) {
      for (const Served& job : chunk.jobs_) {
        if (still_waits(job)) jobs.emplace_back(job.behind(now), job);
      }
    }
    std::ranges::sort(jobs, [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first : a.second.is_before(b.second);
    });
    visited_ = 0;
    chunks_.clear();
    for (const auto& [behind, job] : jobs) {
      if (chunks_.empty() || chunks_.back().jobs_.size() >= chunk_max) chunks_.emplace_back();
      chunks_.back().add(job, now);
    }
  }

  std::vector<Chunk> chunks_;
  std::size_t visited_ = 0;  // chunks, since they were made
};

}  // namespace sl
