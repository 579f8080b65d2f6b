// Shortest job first (policies.md 4.1): waiting jobs by estimated run time on the GPUs they ask for.
//
//   1 in order (estimated run time, submission, id): start jobs that fit; one that does not fit lets the next ones pass or,
//     with `head=block`, holds them all back
//
// A job without an estimate counts as long as finished jobs like it (policy/run_times.h). Not preemptive, not elastic.
#pragma once

#include "policy/policy.h"

namespace sl {

PolicyEntry sjf_entry();

}  // namespace sl
