// Elastic SRJF and elastic SRTF (policies.md 4.1): the shortest jobs get their minimum first, then the remaining GPUs
// are shared.
//
//   1 order all jobs by their remaining work: srjf by time on one GPU, srtf by time on the GPUs they ask for
//   2 divide the GPUs as elastic_fifo does, in that order
//
// Ties: (submission, id). Preemptive, elastic.
#pragma once

#include "policy/policy.h"

namespace sl {

PolicyEntry elastic_srjf_entry();
PolicyEntry elastic_srtf_entry();

}  // namespace sl
