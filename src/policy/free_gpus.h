// The GPUs (and other resources) nobody holds, indexed so that "the fullest server that still has k free" is found in
// constant time. The ledger keeps one; a policy changes it only inside a Trial, which puts everything back. The index
// is brought up to date when it is asked: most of what a Trial or a job that takes over another's GPUs changes is back
// as it was by then.
#pragma once

#include <array>
#include <boost/container/small_vector.hpp>
#include <vector>

#include "model/allocation.h"
#include "model/resources.h"
#include "model/server.h"
#include "policy/index_set.h"

namespace sl {

class FreeGpus {
 public:
  // The server's free GPUs and resources are now these. A server that takes no jobs is `closed` and is found by nobody.
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
  int total() const { return total_; }  // free GPUs on open servers
  int most_on_one_server() const;       // free GPUs, of the open server that has the most
  int gpus_per_server_max() const { return gpus_max_; }
  std::size_t servers() const { return slots_.size(); }
  // Grows with every set(): servers that joined, left, or have GPUs used by others. Jobs alone do not change it.
  std::uint64_t generation() const { return generation_; }
  // Open servers with exactly `n` free GPUs.
  const IndexSet& with_exactly(int n) const {
    bring_up_to_date();
    return buckets_[static_cast<std::size_t>(n)];
  }

 private:
  struct Slot {
    GpuSet free;
    bool open = false;
    mutable bool is_stale = false;         // stands in stale_
    mutable std::int8_t bucket = nowhere;  // as the index has it
  };
  static constexpr std::int8_t nowhere = -1;
  void move_to(Slot& slot, ServerIndex server, GpuSet free);
  void note_change(Slot& slot, ServerIndex server);
  void bring_up_to_date() const {
    if (!stale_.empty()) list_stale();
  }
  void list_stale() const;

  IndexedVector<ServerIndex, Slot> slots_;
  IndexedVector<ServerIndex, ResourceVector> resources_;  // kept apart: seldom asked for
  mutable std::array<IndexSet, GpuSet::capacity + 1> buckets_;
  mutable std::vector<ServerIndex> stale_;  // servers that may be in the wrong bucket
  int total_ = 0;
  int gpus_max_ = 0;
  std::uint64_t generation_ = 0;
};

// What-if on the free GPUs: take and give as you like, all of it is undone when the Trial ends.
class Trial {
 public:
  explicit Trial(FreeGpus& free) : free_(free) {}
  ~Trial() { rewind(0); }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  // `demand` is for the whole allocation and is split over its servers in proportion to GPUs.
  void take(const Allocation& gpus, const ResourceVector& demand = {});
  void give(const Allocation& gpus, const ResourceVector& demand = {});
  const FreeGpus& free() const { return free_; }

  // A point to come back to.
  std::size_t mark() const { return log_.size(); }
  void rewind(std::size_t mark);

 private:
  struct Undo {
    ServerIndex server;
    GpuSet gpus;
    ResourceVector demand;
    bool taken;
  };
  void change(const Allocation& gpus, const ResourceVector& demand, bool taken);
  FreeGpus& free_;
  boost::container::small_vector<Undo, 16> log_;
};

}  // namespace sl
