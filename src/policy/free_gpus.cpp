#include "policy/free_gpus.h"

#include <algorithm>
#include <utility>

namespace sl {
namespace {

std::uint64_t count_bit(int n) { return n > 0 ? std::uint64_t{1} << (n - 1) : 0; }

}  // namespace

void FreeGpus::note_change(Slot& slot, ServerIndex server) {
  if (!std::exchange(slot.is_stale, true)) stale_.push_back(server);
}

void FreeGpus::list_stale() const {
  for (const ServerIndex server : stale_) {
    const Slot& slot = slots_[server];
    slot.is_stale = false;
    const auto belongs = slot.open ? static_cast<std::int8_t>(slot.free.count()) : nowhere;
    if (slot.bucket == belongs) continue;
    if (slot.bucket != nowhere) {
      IndexSet& bucket = buckets_[static_cast<std::size_t>(slot.bucket)];
      bucket.erase(server.value);
      if (bucket.empty()) counts_ &= ~count_bit(slot.bucket);
    }
    if (belongs != nowhere) {
      buckets_[static_cast<std::size_t>(belongs)].insert(server.value);
      counts_ |= count_bit(belongs);
    }
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

bool FreeGpus::fits(const Allocation& gpus, Demand demand) const {
  if (demand.is_zero()) return true;
  bool fit = true;
  for_each_share(gpus, demand, [&](const ServerGpus& part, const ResourceVector& share) {
    fit = fit && share.fits_in(resources_[part.server]);
  });
  return fit;
}

bool FreeGpus::fits_more(const Allocation& from, const Allocation& to, Demand demand) const {
  bool fit = true;
  for_each_excess(from, to, demand, [&](ServerIndex server, const ResourceVector& excess) {
    fit = fit && excess.fits_in(resources_[server]);
  });
  return fit;
}

void FreeGpus::take(ServerIndex server, GpuSet gpus, const ResourceVector& demand) {
  Slot& slot = slots_[server];
  SL_CHECK(slot.free.contains(gpus), "only free GPUs are taken");
  if (!demand.is_zero()) resources_[server] -= demand;
  move_to(slot, server, slot.free - gpus);
}

void FreeGpus::give(ServerIndex server, GpuSet gpus, const ResourceVector& demand) {
  Slot& slot = slots_[server];
  SL_CHECK((slot.free & gpus).empty(), "only GPUs in use are given back");
  if (!demand.is_zero()) resources_[server] += demand;
  move_to(slot, server, slot.free | gpus);
}

void Trial::change(ServerIndex server, GpuSet gpus, const ResourceVector& demand, bool taken) {
  taken ? free_.take(server, gpus, demand) : free_.give(server, gpus, demand);
  log_.push_back({server, gpus, demand, taken});
}

void Trial::change(const Allocation& gpus, Demand demand, bool taken) {
  for_each_share(gpus, demand, [&](const ServerGpus& part, const ResourceVector& share) {
    change(part.server, part.gpus, share, taken);
  });
}

void Trial::take(const Allocation& gpus, Demand demand) { change(gpus, demand, true); }
void Trial::give(const Allocation& gpus, Demand demand) { change(gpus, demand, false); }

void Trial::take_more(const Allocation& from, const Allocation& to, Demand demand) {
  take(difference(to, from));
  for_each_excess(from, to, demand,
                  [&](ServerIndex server, const ResourceVector& excess) { change(server, {}, excess, true); });
}

void Trial::rewind(std::size_t mark) {
  while (log_.size() > mark) {
    const Undo& last = log_.back();
    last.taken ? free_.give(last.server, last.gpus, last.demand) : free_.take(last.server, last.gpus, last.demand);
    log_.pop_back();
  }
}

}  // namespace sl
