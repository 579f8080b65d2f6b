// The GPUs (and other resources) that no job holds, indexed so that "the fullest server that still has k free" is found
// in constant time. The ledger keeps one; a policy changes it only inside a Trial, which restores everything. The index
// is updated only when it is queried: by then, most of the changes made by a Trial or a job that takes over another's
// GPUs have been undone.
#pragma once

#include <array>
#include <bit>
#include <boost/container/small_vector.hpp>
#include <vector>

#include "model/demand.h"
#include "model/server.h"
#include "policy/index_set.h"

namespace sl {

class FreeGpus {
 public:
  // Sets the server's free GPUs and resources. A server that takes no jobs is `closed` and never found.
  void set(ServerIndex server, GpuSet free, const ResourceVector& resources, bool open, int gpus_total);
  void take(ServerIndex server, GpuSet gpus, const ResourceVector& demand);
  void give(ServerIndex server, GpuSet gpus, const ResourceVector& demand);

  GpuSet on(ServerIndex server) const { return slots_[server].free; }
  int count(ServerIndex server) const { return slots_[server].free.count(); }
  bool is_open(ServerIndex server) const { return slots_[server].open; }
  const ResourceVector& resources(ServerIndex server) const { return resources_[server]; }
  bool fits(ServerIndex server, const ResourceVector& demand) const {
    return demand.is_zero() || demand.fits_in(resources_[server]);
  }
  // Whether everything else that a job on these GPUs needs is free on each of their servers.
  bool fits(const Allocation& gpus, Demand demand) const;
  // The same for a running job: what it needs on `to` beyond what it holds on `from`.
  bool fits_more(const Allocation& from, const Allocation& to, Demand demand) const;
  int total() const { return total_; }  // free GPUs on open servers
  int gpus_per_server_max() const { return gpus_max_; }
  std::size_t servers() const { return slots_.size(); }
  // Grows with every set(): when servers join, leave, or have GPUs used by others, or other resources by jobs without
  // GPUs. Jobs that policies know do not change it.
  std::uint64_t generation() const { return generation_; }
  // Open servers with exactly `n` free GPUs.
  const IndexSet& with_exactly(int n) const {
    bring_up_to_date();
    return buckets_[static_cast<std::size_t>(n)];
  }
  // The least number of free GPUs, from `n` on, that an open server has. Above gpus_per_server_max(): none.
  int next_count(int n) const {
    bring_up_to_date();
    return n < 1 || n > GpuSet::capacity ? n : n + std::countr_zero(counts_ >> (n - 1));
  }

 private:
  struct Slot {
    GpuSet free;
    bool open = false;
    mutable bool is_stale = false;         // is in stale_
    mutable std::int8_t bucket = nowhere;  // according to the index
  };
  static constexpr std::int8_t nowhere = -1;
  void move_to(Slot& slot, ServerIndex server, GpuSet free);
  void note_change(Slot& slot, ServerIndex server);
  void bring_up_to_date() const {
    if (!stale_.empty()) list_stale();
  }
  void list_stale() const;

  IndexedVector<ServerIndex, Slot> slots_;
  IndexedVector<ServerIndex, ResourceVector> resources_;  // separate, because seldom read
  mutable std::array<IndexSet, GpuSet::capacity + 1> buckets_;
  mutable std::uint64_t counts_ = 0;        // bit n - 1: some server has n free GPUs
  mutable std::vector<ServerIndex> stale_;  // servers that may be in the wrong bucket
  int total_ = 0;
  int gpus_max_ = 0;
  std::uint64_t generation_ = 0;
};

// What-if on the free GPUs: take and give as you like; everything is undone when the Trial ends.
class Trial {
 public:
  explicit Trial(FreeGpus& free) : free_(free) {}
  ~Trial() { rewind(0); }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  // `demand` is that of a job on exactly these GPUs; by default only GPUs change hands.
  void take(const Allocation& gpus, Demand demand = {});
  void give(const Allocation& gpus, Demand demand = {});
  void take(ServerIndex server, GpuSet gpus, const ResourceVector& demand) { change(server, gpus, demand, true); }
  void give(ServerIndex server, GpuSet gpus, const ResourceVector& demand) { change(server, gpus, demand, false); }
  // What a running job needs in order to continue on `to`, beyond what it holds. It keeps the rest until it has moved.
  void take_more(const Allocation& from, const Allocation& to, Demand demand);
  const FreeGpus& free() const { return free_; }

  // A point to return to.
  std::size_t mark() const { return log_.size(); }
  void rewind(std::size_t mark);

 private:
  struct Undo {
    ServerIndex server;
    GpuSet gpus;
    ResourceVector demand;
    bool taken;
  };
  void change(const Allocation& gpus, Demand demand, bool taken);
  void change(ServerIndex server, GpuSet gpus, const ResourceVector& demand, bool taken);
  FreeGpus& free_;
  boost::container::small_vector<Undo, 16> log_;
};

}  // namespace sl
