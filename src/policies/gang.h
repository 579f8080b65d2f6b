// Gang scheduling (policies.md 9.1): a job with several members starts completely or not at all, and away from others
// where possible.
//
//   1 gangs in order (priority descending, submission, id); each wants at least its minimum, one GPU a member
//   2 a server where no other job has a member is preferred; ties: fewest free GPUs left, lowest index. A gang that may
//     span servers takes such servers first, the fullest free ones before the others
//   3 the first that does not fit: `strict` stops; `backfill` lets those pass that cannot delay it (fifo_easy's rule)
//   4 when nobody waits: members are added up to the wanted number, older gangs first, on the servers they are on; a
//     running one only if it can be resized and has run `settle_s`
//
// A start is one decision for all members, so there is nothing to roll back when one of them does not come up: the
// attempt fails and is requeued with its submission time. Non-preemptive, elastic above the minimum.
// Source: after the Coach thesis, made all-or-nothing, which its plug-in is not.
#pragma once

#include "policy/policy.h"

namespace sl {

PolicyEntry gang_entry();

}  // namespace sl
