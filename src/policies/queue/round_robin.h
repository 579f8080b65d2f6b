// Round robin over servers: each job goes to the server after the one the last job went to (policies.md 2).
//
//   1 in order (priority, submission, id): try the servers after the last used one, each of them once
//     (`strict_rotation`: only the next one that could hold the job if it were empty)
//   2 on success remember that server; on failure stop: the head blocks the line
//
// The pointer moves only on success and lives in the core, so it survives restarts and changes of policy. Not
// preemptive, not elastic. Source: Schedulearn thesis, with the faults of its code removed.
#pragma once

#include "policy/policy.h"

namespace sl {

PolicyEntry round_robin_entry();

}  // namespace sl
