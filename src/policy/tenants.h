// Who is on each GPU. The ledger keeps it; policies read how many jobs a GPU has and since when.
#pragma once

#include <algorithm>
#include <boost/container/small_vector.hpp>

#include "base/one_or_more.h"
#include "base/time.h"
#include "model/allocation.h"

namespace sl {

struct Tenancy {  // of one GPU
  OneOrMore<JobIndex> jobs;
  JobIndex next;    // promised to, once they have gone
  Instant started;  // when a job last started on it
  int count() const { return static_cast<int>(jobs.items().size()); }
};

// By server and GPU; in place for nearly all servers.
using Tenants = IndexedVector<ServerIndex, boost::container::small_vector<Tenancy, 8>>;

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
