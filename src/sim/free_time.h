// How many GPUs are free and how they are spread, integrated over time (policies.md 14, fragmentation). Each change
// costs constant time: servers are counted by how many free GPUs they have.
#pragma once

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "model/allocation.h"
#include "trace/trace.h"

namespace sl::sim {

class FreeTime {
 public:
  static constexpr std::size_t most = GpuSet::capacity;

  // `wider[n]`: the fraction of the trace's jobs that ask one server for more than n GPUs. `is_pool`: to all jobs the
  // GPUs are those of one server, so they are never spread.
  FreeTime(const std::array<double, most + 1>& wider, bool is_pool) : wider_(wider), is_pool_(is_pool) {}

  void set(std::size_t server, int free) {
    if (server >= free_.size()) free_.resize(server + 1, 0);
    if (free_[server] == free) return;
    change(free_[server], -1);
    change(free_[server] = free, +1);
  }
  // `is_used`: something ran. What passes after that for the last time is no part of the figures.
  void pass(double seconds, bool is_used) {
    const double free = static_cast<double>(total_);
    passed_.free_s += free * seconds;
    if (total_ > 0 && !is_pool_) {
      passed_.fragmented_s += (free - largest()) * seconds;
      passed_.useless_s += useless_ * seconds;
    }
    if (is_used) kept_ = passed_;
  }
  double free_s() const { return kept_.free_s; }
  double fragmented_s() const { return kept_.fragmented_s; }
  double useless_s() const { return kept_.useless_s; }

 private:
  void change(int free, int by) {
    const auto n = static_cast<std::size_t>(free);
    servers_[n] += by;
    servers_[n] > 0 ? used_ |= bit(n) : used_ &= ~bit(n);
    total_ += by * free;
    useless_ += by * free * wider_[n];
  }
  static std::uint64_t bit(std::size_t n) { return n == 0 ? 0 : std::uint64_t{1} << (n - 1); }
  double largest() const { return used_ == 0 ? 0 : 64 - __builtin_clzll(used_); }

  std::array<double, most + 1> wider_;
  bool is_pool_;
  std::array<int, most + 1> servers_{};
  std::uint64_t used_ = 0;  // bit n-1: some server has n free
  std::vector<int> free_;
  std::int64_t total_ = 0;
  double useless_ = 0;
  struct Integrals {
    double free_s = 0, fragmented_s = 0, useless_s = 0;
  } passed_, kept_;
};

// What it needs of a trace whose largest server has so many GPUs. Jobs that take several servers count as none.
inline std::array<double, FreeTime::most + 1> wider_than(const trace::Trace& trace, int gpus_per_server) {
  std::array<double, FreeTime::most + 1> wider{};
  double jobs = 0;
  for (const trace::TraceJob& job : trace.jobs) {
    if (job.gpus == 0 || job.gpus > std::min(gpus_per_server, static_cast<int>(FreeTime::most))) continue;
    ++jobs;
    ++wider[static_cast<std::size_t>(job.gpus)];
  }
  double above = 0;
  for (std::size_t n = FreeTime::most + 1; n-- > 0;) above += std::exchange(wider[n], jobs > 0 ? above / jobs : 0);
  return wider;
}

}  // namespace sl::sim
