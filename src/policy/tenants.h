// Who is on each GPU. The ledger keeps it; policies read how many jobs a GPU has and since when.
#pragma once

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "base/one_or_more.h"
#include "base/time.h"
#include "model/allocation.h"

namespace sl {

struct Tenancy {  // of one GPU
  OneOrMore<JobIndex> jobs;
  JobIndex next;    // the job that gets it once these have gone
  Instant started;  // when a job last started on it
  int count() const { return static_cast<int>(jobs.items().size()); }
};

// The GPUs of all servers, in one array: a small table gives each server's position, so a single lookup finds a GPU
// among many thousands of servers.
class Tenants {
 public:
  std::span<Tenancy> operator[](ServerIndex server) {
    return std::span(row_).subspan(places_[server].first, places_[server].gpus);
  }
  std::span<const Tenancy> operator[](ServerIndex server) const {
    return std::span(row_).subspan(places_[server].first, places_[server].gpus);
  }
  // The server has `gpus` GPUs from now on. A new server is the next one.
  void resize(ServerIndex server, int gpus) {
    if (!places_.contains(server)) places_.push_back({});
    Place& place = places_[server];
    const auto count = static_cast<std::uint32_t>(gpus);
    if (count > place.gpus) {  // moves to the end of the array; its old place stays unused, which is rare
      const Place before = std::exchange(place, {static_cast<std::uint32_t>(row_.size()), count});
      row_.resize(row_.size() + count);
      std::move(row_.begin() + before.first, row_.begin() + before.first + before.gpus, row_.begin() + place.first);
    }
    place.gpus = count;
  }

 private:
  struct Place {
    std::uint32_t first = 0, gpus = 0;
  };
  IndexedVector<ServerIndex, Place> places_;
  LargeVector<Tenancy> row_;
};

template <typename Visit>  // visit(tenancy) for every GPU of these
void for_each_tenancy(const Tenants& tenants, const Allocation& gpus, Visit visit) {
  for (const ServerGpus& part : gpus.parts())
    part.gpus.for_each([&](int gpu) { visit(tenants[part.server][static_cast<std::size_t>(gpu)]); });
}

// Whether any of these GPUs has more than one job.
inline bool are_shared(const Tenants& tenants, const Allocation& gpus) {
  bool shared = false;
  for_each_tenancy(tenants, gpus, [&](const Tenancy& of) { shared = shared || of.count() > 1; });
  return shared;
}

}  // namespace sl
