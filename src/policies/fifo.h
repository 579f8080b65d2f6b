// First in, first out, as the Schedulearn thesis states it (policies.md 1.1).
//
// A GPU is usable when its utilization is below `theta` and fewer than `share_max` jobs of ours are on it. A job lives
// on one server. Preset `exclusive` (default): share_max = 1, so the ledger alone decides and best fit is used. Preset
// `seed`: any number of jobs share a GPU that is not busy.
//
//   1 in order (priority, submission, id): find a server with enough usable GPUs
//   2 none: stop, the head of the line blocks the rest
//
// Ties: server index, GPU index. Not preemptive, not elastic. Source: thesis, with the readings of policies.md 1.1.
#pragma once

#include "policy/policy.h"

namespace sl {

PolicyEntry fifo_entry();

}  // namespace sl
