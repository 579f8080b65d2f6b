// Dominant resource fairness (policies.md 12): of several resources, the one a user holds most of counts.
//
//   1 a user's dominant share: the largest of its shares of all GPUs, CPUs, memory, disk and network (those that
//     servers state), divided by its weight
//   2 repeatedly, the user with the smallest dominant share that has a job that fits gets its first such job
//
// Ties: the user whose first job that fits has waited longest. A user's own jobs keep the order (priority, submission, id) and pass one
// that does not fit. Non-preemptive, rigid. Source: Ghodsi et al., NSDI 2011.
#pragma once

#include "policy/policy.h"

namespace sl {

PolicyEntry drf_entry();

}  // namespace sl
