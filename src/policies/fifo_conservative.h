// Conservative backfill (policies.md 1.4): every job in line has a reservation, and nobody may delay any of them.
//
//   1 the future of free GPUs is drawn from what runs and when it is expected to end
//   2 what was promised before is booked, as far as it can still be kept
//   3 in order (priority descending, submission, id) each job moves to the earliest time at which there is room for it
//     throughout its run beside the bookings of all others, where it fits best; again until nobody can move
//   4 one whose time is now starts
//
// So no job is ever put later than it was promised, as long as what runs ends as expected (without promises, drawing
// all anew at every event would do that: list scheduling has such anomalies).
//
// The first `depth` jobs in line have reservations. Promised times and places are kept in the policy's memory. CPU and
// memory are looked at for starts, not for the future. Non-preemptive, rigid.
// Source: Mu'alem and Feitelson 2001; the guard is ours.
#pragma once

#include "policy/policy.h"

namespace sl {

PolicyEntry fifo_conservative_entry();

}  // namespace sl
