// First in, first out, but a job that does not fit is skipped (policies.md 1.2).
//
//   1 in order (priority, submission, id): place the job; if it does not fit, go on with the next
//   2 a job that has been overtaken `skip_limit` times blocks like in strict FIFO, so that wide jobs do not starve. Of
//     jobs that need the same, only the first is counted: the others wait for it in any case
//
// Ties: (submission, id), placer. Not preemptive, not elastic. Source: Voda "FIFO", Tiresias "fjf"; the limit is ours.
#pragma once

#include "policy/policy.h"

namespace sl {

PolicyEntry fifo_first_fit_entry();

}  // namespace sl
