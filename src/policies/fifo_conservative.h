// Conservative backfill (policies.md 1.4): every job in line has a reservation, and nobody may delay any of them.
//
//   1 the future of free GPUs is drawn from what runs and when it is expected to end
//   2 in order (priority descending, submission, id) each job is booked at the earliest time at which the placer's rule
//     finds room throughout its run; one whose time is now starts
//   3 this is done anew at every decision. When that would put a job later than it was promised before, the promises
//     stand: all are booked first, then each job in turn moves to the earliest time that is left
//
// The first `depth` jobs in line have reservations. Promised times and places are kept in the policy's memory. CPU and
// memory are looked at for starts, not for the future. Non-preemptive, rigid.
// Source: Mu'alem and Feitelson 2001; the guard is ours.
#pragma once

#include "policy/policy.h"

namespace sl {

PolicyEntry fifo_conservative_entry();

}  // namespace sl
