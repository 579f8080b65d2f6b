// EASY backfill (policies.md 1.3): the head of the line keeps its place, others may go before it if they do not delay
// it.
//
//   1 jobs start in order (priority descending, submission, id) while they fit
//   2 the first that does not gets a reservation: the earliest time at which, running jobs ending as expected, the
//     placer finds room for it, and the GPUs it would take then
//   3 of the next `backfill_depth` jobs each starts now if it fits and either ends by then or takes only GPUs that are
//     left over then
//
// The time of the reservation comes from the placer, not from a count of GPUs: a job on one server cannot use one free
// GPU on each of four. Non-preemptive, rigid. Source: Lifka 1995; Mu'alem and Feitelson 2001.
#pragma once

#include "policy/policy.h"

namespace sl {

PolicyEntry fifo_easy_entry();

}  // namespace sl
