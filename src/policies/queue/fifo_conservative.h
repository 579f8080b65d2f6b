// Conservative backfill (policies.md 1.4): every job in line has a reservation, and no job may delay any of them.
//
//   1 the future of free GPUs follows from the running jobs and their expected ends
//   2 earlier promises are booked, in order, up to the first that cannot be kept since jobs did not end as expected:
//     those after it are made anew, lest others pass it
//   3 in order (priority descending, submission, id) each job moves to the earliest time at which there is room for it
//     throughout its run next to the bookings of all others, where it fits best; repeated until no job can move
//   4 a job whose time is now starts
//
// So no job is ever put later than it was promised, as long as running jobs end as expected (without promises, planning
// anew at every event could do that: list scheduling has such anomalies).
//
// The first `depth` jobs in line have reservations. Promised times and places are kept in the policy's memory. CPU and
// memory are checked for starts, not for the future. Non-preemptive, rigid. Source: Mu'alem and Feitelson 2001; the
// guard is ours.
#pragma once

#include "policy/policy.h"

namespace sl {

PolicyEntry fifo_conservative_entry();

}  // namespace sl
