// Strict FIFO (policies.md 1.2): order (priority descending, submission, id); each job starts on the GPUs it asks for,
// where they fit best; the first one that does not fit stops the pass, so nobody ever overtakes. Non-preemptive, rigid.
#pragma once

#include "policy/policy.h"

namespace sl {

PolicyEntry fifo_strict_entry();

}  // namespace sl
