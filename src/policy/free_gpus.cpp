#include "policy/free_gpus.h"

#include <algorithm>

namespace sl {

void FreeGpus::move_to(ServerIndex server, GpuSet free) {
  Slot& slot = slots_[server];
  if (slot.free == free) return;
  if (slot.open) {
    buckets_[static_cast<std::size_t>(slot.free.count())].erase(server.value);
    buckets_[static_cast<std::size_t>(free.count())].insert(server.value);
    total_ += free.count() - slot.free.count();
  }
  slot.free = free;
}

void FreeGpus::set(ServerIndex server, GpuSet free, const ResourceVector& resources, bool open, int gpus_total) {
  ++generation_;
  while (!slots_.contains(server)) slots_.push_back({});
  Slot& slot = slots_[server];
  if (slot.open) {
    buckets_[static_cast<std::size_t>(slot.free.count())].erase(server.value);
    total_ -= slot.free.count();
  }
  slot = {free, open, gpus_total, resources};
  if (open) {
    buckets_[static_cast<std::size_t>(free.count())].insert(server.value);
    total_ += free.count();
  }
  gpus_max_ = std::max(gpus_max_, gpus_total);
}

int FreeGpus::most_on_one_server() const {
  int most = gpus_max_;
  while (most > 0 && with_exactly(most).empty()) --most;
  return most;
}

void FreeGpus::take(ServerIndex server, GpuSet gpus, const ResourceVector& demand) {
  SL_CHECK(slots_[server].free.contains(gpus), "took GPUs that are not free");
  if (!demand.is_zero()) slots_[server].resources -= demand;
  move_to(server, slots_[server].free - gpus);
}

void FreeGpus::give(ServerIndex server, GpuSet gpus, const ResourceVector& demand) {
  SL_CHECK((slots_[server].free & gpus).empty(), "gave back GPUs that are free already");
  if (!demand.is_zero()) slots_[server].resources += demand;
  move_to(server, slots_[server].free | gpus);
}

void Trial::change(const Allocation& gpus, const ResourceVector& demand, bool taken) {
  const double whole = demand.is_zero() ? 1 : gpus.count();
  for (const ServerGpus& part : gpus.parts()) {
    const ResourceVector share = demand.is_zero() ? demand : demand * (part.gpus.count() / whole);
    taken ? free_.take(part.server, part.gpus, share) : free_.give(part.server, part.gpus, share);
    log_.push_back({part.server, part.gpus, share, taken});
  }
}

void Trial::take(const Allocation& gpus, const ResourceVector& demand) { change(gpus, demand, true); }
void Trial::give(const Allocation& gpus, const ResourceVector& demand) { change(gpus, demand, false); }

void Trial::rewind(std::size_t mark) {
  while (log_.size() > mark) {
    const Undo& last = log_.back();
    last.taken ? free_.give(last.server, last.gpus, last.demand) : free_.take(last.server, last.gpus, last.demand);
    log_.pop_back();
  }
}

}  // namespace sl
