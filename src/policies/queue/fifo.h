// First in, first out: strict (policies.md 1.2), or as the Schedulearn thesis states it (policies.md 1.1).
//
// A GPU is usable if its utilization is below `theta` and fewer than `share_max` of our jobs are on it. Preset
// `exclusive` (default, also known as fifo_strict): share_max = 1, so the ledger alone decides and best fit is used.
// Preset `seed`: any number of jobs share a GPU that is not busy, and a job that shares stays on one server.
//
//   1 in order (priority, submission, id): find a server with enough usable GPUs
//   2 if there is none, stop: the head of the line blocks the rest
//
// Ties: server index, GPU index. Not preemptive, not elastic. Source: thesis, with the readings of policies.md 1.1.
#pragma once

#include "policy/policy.h"

namespace sl {

PolicyEntry fifo_entry();

}  // namespace sl
