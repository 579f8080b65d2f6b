#include "policy/free_gpus.h"

#include <algorithm>
#include <utility>

namespace sl {

void FreeGpus::note_change(Slot& slot, ServerIndex server) {
  if (!std::exchange(slot.is_stale, true)) stale_.push_back(server);
}

void FreeGpus::list_stale() const {
  for (const ServerIndex server : stale_) {
    const Slot& slot = slots_[server];
    slot.is_stale = false;
    const auto belongs = slot.open ? static_cast<std::int8_t>(slot.free.count()) : nowhere;
    if (slot.bucket == belongs) continue;
    if (slot.bucket != nowhere) buckets_[static_cast<std::size_t>(slot.bucket)].erase(server.value);
    if (belongs != nowhere) buckets_[static_cast<std::size_t>(belongs)].insert(server.value);
    slot.bucket = belongs;
  }
  stale_.clear();
}

void FreeGpus::move_to(Slot& slot, ServerIndex server, GpuSet free) {
  if (slot.open) {
    total_ += free.count() - slot.free.count();
    note_change(slot, server);
  }
  slot.free = free;
}

void FreeGpus::set(ServerIndex server, GpuSet free, const ResourceVector& resources, bool open, int gpus_total) {
  ++generation_;
  while (!slots_.contains(server)) slots_.push_back({}), resources_.push_back({});
  Slot& slot = slots_[server];
  total_ += (open ? free.count() : 0) - (slot.open ? slot.free.count() : 0);
  slot.free = free;
  slot.open = open;
  resources_[server] = resources;
  note_change(slot, server);
  gpus_max_ = std::max(gpus_max_, gpus_total);
}

int FreeGpus::most_on_one_server() const {
  int most = gpus_max_;
  while (most > 0 && with_exactly(most).empty()) --most;
  return most;
}

void FreeGpus::take(ServerIndex server, GpuSet gpus, const ResourceVector& demand) {
  Slot& slot = slots_[server];
  SL_CHECK(slot.free.contains(gpus), "took GPUs that are not free");
  if (!demand.is_zero()) resources_[server] -= demand;
  move_to(slot, server, slot.free - gpus);
}

void FreeGpus::give(ServerIndex server, GpuSet gpus, const ResourceVector& demand) {
  Slot& slot = slots_[server];
  SL_CHECK((slot.free & gpus).empty(), "gave back GPUs that are free already");
  if (!demand.is_zero()) resources_[server] += demand;
  move_to(slot, server, slot.free | gpus);
}

void Trial::change(const Allocation& gpus, const ResourceVector& demand, bool taken) {
  const int whole = demand.is_zero() ? 0 : gpus.count();
  for (const ServerGpus& part : gpus.parts()) {
    const ResourceVector share = whole == 0 ? demand : demand * (static_cast<double>(part.gpus.count()) / whole);
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
