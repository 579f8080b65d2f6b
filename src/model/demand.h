// What a job needs besides GPUs, and how that is divided over its servers (policies.md 9.1). This is the only place
// that knows.
//
// Without roles a job needs one amount, divided evenly over its GPUs; without GPUs all of it on its server. With roles it needs what its members need, and
// each member is on one server. How many members there are and where they are follows from the job's GPUs alone. Number
// the GPUs in the order of the allocation's parts; these numbers are the ranks. On g GPUs:
//
// clang-format off
//   1 members with a GPU: each role gets its minimum; the remaining GPUs go to the roles in order, up to the number
//     that each role wants
//   2 members without a GPU: the minimum on the fewest GPUs, the wanted number on the most; in between in proportion,
//     rounded down
//   3 members with a GPU have one rank each, in order of roles
//   4 the n members of a role without GPUs are spread evenly: number i (from 0) is placed with rank i * g / n, rounded
//     down
// clang-format on
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "model/job.h"

namespace sl {

inline std::span<const Role> roles_of(const JobRequest& request) {
  return request.model ? std::span<const Role>(request.model->roles) : std::span<const Role>();
}

// Whether every role has at least its minimum of members. Without them a job cannot start.
inline bool has_all_members(const JobRequest& request) {
  return std::ranges::all_of(roles_of(request), [](const Role& role) { return role.count_wanted >= role.count_min; });
}

// One without GPUs that does not say how many CPUs it needs is taken to need one: else any number of them would run at once.
inline constexpr double cpus_without_gpus = 1;

// How many members of each role there are on that many GPUs: rules 1 and 2. There are always as many members with a GPU
// as GPUs, even if that is more or fewer than the roles state: then the last roles have more or fewer.
std::vector<int> member_counts(std::span<const Role> roles, int gpus);

// What a job needs, by reference to its request; by default nothing.
class Demand {
 public:
  Demand() = default;
  Demand(const JobRequest& request) : request_(&request) {}  // NOLINT: a request is what it demands

  bool is_zero() const { return !request_ || request_->demand.is_zero(); }
  // On ranks `first` to `first + count - 1` of `whole`. Not to be called if nothing is needed.
  ResourceVector of_ranks(int first, int count, int whole) const {
    if (whole == 0) return request_->demand;  // of a job without GPUs
    if (roles_of(*request_).empty()) return request_->demand * (static_cast<double>(count) / whole);
    return of_members(first, count, whole);
  }
  // Of the whole job on that many GPUs.
  ResourceVector on(int gpus) const { return is_zero() ? ResourceVector{} : of_ranks(0, gpus, gpus); }
  // On one of the servers of an allocation; zero where it has no GPU.
  ResourceVector on(const Allocation& gpus, ServerIndex server) const;

 private:
  ResourceVector of_members(int first, int count, int whole) const;
  const JobRequest* request_ = nullptr;
};

// visit(part, what the job needs there) for every server of the allocation.
template <typename Visit>
void for_each_share(const Allocation& gpus, Demand demand, Visit visit) {
  const bool nothing = demand.is_zero();
  const int whole = nothing ? 0 : gpus.count();
  int first = 0;
  for (const ServerGpus& part : gpus.parts()) {
    const int count = nothing ? 0 : part.gpus.count();
    visit(part, nothing ? ResourceVector{} : demand.of_ranks(first, count, whole));
    first += count;
  }
}

// visit(server, what the job needs there under `to` beyond what it needs there under `from`) for every server of `to`
// where that is not zero.
template <typename Visit>
void for_each_excess(const Allocation& from, const Allocation& to, Demand demand, Visit visit) {
  if (demand.is_zero()) return;
  for_each_share(to, demand, [&](const ServerGpus& part, ResourceVector excess) {
    const ResourceVector before = demand.on(from, part.server);
    for (std::size_t d = 0; d < resource_count; ++d)
      excess.amount[d] = std::max(0.0, excess.amount[d] - before.amount[d]);
    if (!excess.is_zero()) visit(part.server, excess);
  });
}

}  // namespace sl
