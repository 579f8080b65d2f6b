// Smallest job first, by GPUs (policies.md 4.1; "smallest job first" in the Tiresias simulator).
//
//   1 in order (GPUs asked for, submission, id): start jobs that fit; one that does not fit lets the next ones pass or,
//     with `head=block`, holds them all back
//
// Not preemptive, not elastic.
#pragma once

#include "policy/policy.h"

namespace sl {

PolicyEntry sgf_entry();

}  // namespace sl
