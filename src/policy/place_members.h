// Placement of a job that may span servers and whose members have different needs (policies.md 9.1): a parameter server
// needs CPUs and memory, a worker needs a GPU. Each member is on one server, so the order of the servers matters: it
// decides which member is where (model/demand.h).
#pragma once

#include <optional>
#include <vector>

#include "policy/snapshot.h"

namespace sl {

// Whether the job's needs may differ from an even share on each server.
inline bool has_unlike_members(const JobRequest& request) {
  return !request.demand.is_zero() && !roles_of(request).empty();
}

// Servers with free GPUs: those with the most, or with the fewest, come first; ties: lowest index.
std::vector<ServerIndex> fullest_first(const FreeGpus& free);
std::vector<ServerIndex> emptiest_first(const FreeGpus& free);

// For any job, also one whose needs are divided evenly. Each server in turn is tried as that of rank 0, followed by the
// others in the given order. In this order all free GPUs of a server are taken until there are `count`; if the server
// lacks CPUs or memory for the members that would be there, one GPU less is taken at a time. The first attempt that
// finds room for all members on no more servers than the job may have is the result. If none does and members differ,
// other orders and numbers are tried, a few hundred at most.
std::optional<Allocation> place_members(const FreeGpus& free, const ServerTable& servers, const JobRequest& request,
                                        int count, const std::vector<ServerIndex>& order);

// For a job whose needs are divided evenly: on as few servers as hold it now, those that can take most of it.
std::optional<Allocation> place_on_fewest(const FreeGpus& free, const ServerTable& servers, const JobRequest& request,
                                          int count);

}  // namespace sl
