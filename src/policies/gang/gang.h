// Gang scheduling (policies.md 9.1): a job whose members run together (a scheduler, parameter servers, workers) starts
// with at least its minimum of members or not at all, and away from other jobs where possible.
//
// clang-format off
//   1 gangs in order (priority descending, submission, id); each is placed with the minimum of every role. One with a
//     required role that has no member is skipped and blocks nobody
//   2 on one server: an empty one, else the one with the fewest free GPUs; ties: lowest index. All members must fit,
//     with the CPUs and memory that each of them needs (model/demand.h)
//   3 else, if it may span servers: on several, in order of the same preference, then most free GPUs, then index; they
//     are added until all members fit (policy/place_members.h)
//   4 at the first gang that does not fit, `strict` stops; `backfill` lets gangs pass that cannot delay it
//     (policy/easy_policy.h)
//   5 when no gang waits: members are added up to the wanted number, older gangs first, on the servers they are on,
//     while these have room for them; to a running gang only if it can be resized and has run for `settle_s`
// clang-format on
//
// A start is one decision for all members. If it fails, the attempt ends as a whole and the job is requeued with its
// submission time, so there is nothing to roll back. Non-preemptive, elastic above the minimum.
// Source: the Coach thesis; all-or-nothing, unlike its plug-in.
#pragma once

#include "policy/policy.h"

namespace sl {

PolicyEntry gang_entry();

}  // namespace sl
