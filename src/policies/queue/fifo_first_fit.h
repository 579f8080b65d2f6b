// First in, first out, but a job that does not fit is skipped (policies.md 1.2).
//
// clang-format off
//   1 in order (priority, submission, id): place the job; if it does not fit, continue with the next
//   2 a job that `skip_limit` jobs have overtaken blocks the line as in strict FIFO, so that wide jobs do not starve.
//     Of jobs with the same needs, only the first is counted: the others wait for it in any case
// clang-format on
//
// GPUs are idle only while a job blocks the line: with an unlimited number of skips it would be work-conserving. Ties:
// (submission, id), placer. Not preemptive, not elastic. Source: Voda "FIFO", Tiresias "fjf"; the limit is ours.
#pragma once

#include "policy/policy.h"

namespace sl {

PolicyEntry fifo_first_fit_entry();

}  // namespace sl
