// Gandiva (policies.md 8): more jobs than GPUs take turns, and jobs are moved, packed and grown to use the GPUs well.
// Each mechanism has its own file (gandiva_turn.h).
//
// clang-format off
// A waiting job, longest waiting first, is served by the first of these that works:
//   1 free GPUs, on one server: the least loaded one dedicated to jobs of its size; else an empty one, which is
//     dedicated to that size from then on; else where the job fits best
//   2 shrink: jobs that grew beyond what they asked for give the excess back at once
//   3 migration: small jobs move together so that one server has room, if the job gains more GPU time in a slice than
//     the moves cost
//   4 packing: the job shares the GPUs of a running job of its size that uses them little, if both allow it and their
//     memory fits; a pair that turns out slower than one after the other is separated and not tried again
//   5 slicing: jobs that have run for `slice_s` are suspended, those that ran longest first, for a job that has never
//     run or has waited for a slice
// When no job waits, one job of each pair moves to free GPUs of the same type, and a job that may grow and has run for
// `grow_idle_s` gets the free GPUs of its server.
// clang-format on
//
// Mode `epoch_ring` is the simplified version of report S002: the quantum is an epoch (the estimated run time divided
// by the number of epochs, else `slice_s`); jobs at the end of an epoch make room for those that wait and go to the
// first server with room, fetching their checkpoint there. Wide jobs take turns too, over several servers.
//
// A job that can only be frozen continues on its own server. Preemptive, elastic. Source: Xiao et al., OSDI 2018 (from
// memory); report S002.
#pragma once

#include "policy/policy.h"

namespace sl {

PolicyEntry gandiva_entry();

}  // namespace sl
