// Elastic SRTF (policies.md 4.1): jobs with the least time left first get their minimum, then what is left is shared.
//
//   1 order all jobs by remaining time on the GPUs they ask for
//   2 divide the GPUs as elastic_fifo does, in that order
//
// Ties: (submission, id). Preemptive, elastic.
#pragma once

#include "policy/policy.h"

namespace sl {

PolicyEntry elastic_srtf_entry();

}  // namespace sl
