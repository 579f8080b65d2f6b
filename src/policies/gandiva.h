// Gandiva (policies.md 8): more jobs than GPUs take turns, and jobs are moved, packed and grown to use what is there.
//
// A waiting job, longest waiting first, is served by the first of these that works:
//   1 free GPUs, on one server: one dedicated to jobs of its size, the least loaded; else an empty one, which is
//   dedicated
//     to that size from then on; else where it fits best
//   2 shrink: jobs that grew beyond what they asked for give that back at once
//   3 migration: small jobs move together so that one server has room, if the job wins more GPU time in a slice than
//   the
//     moves cost
//   4 packing: it shares the GPUs of a running job of its size that uses them little, where both allow it and their
//     memory fits; a pair that turns out slower than one after the other is taken apart and not tried again
//   5 slicing: jobs that have run for `slice_s` are suspended, those that ran longest first, for one that has never run
//   or
//     has waited for a slice
// When nobody waits, a job that may grow and has run `grow_idle_s` gets the free GPUs of its server (a stand-in for
// "idle so long", which no fact tells).
//
// Mode `epoch_ring` is the seed's simplified version: the quantum is an epoch (the estimated run time over the number
// of epochs, else `slice_s`), jobs at the end of one make room for those that wait and go to the first server with
// room, fetching their checkpoint there. Wide jobs take turns too, over several servers.
//
// A job that can only be frozen goes on where it was. Preemptive, elastic. Source: Xiao et al., OSDI 2018 (from
// memory); report S002.
#pragma once

#include "policy/policy.h"

namespace sl {

PolicyEntry gandiva_entry();

}  // namespace sl
