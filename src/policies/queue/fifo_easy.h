// EASY backfill (policies.md 1.3): the head of the line keeps its place; other jobs may go before it if they do not
// delay it.
//
// The rule is in policy/easy_policy.h, applied to all the GPUs a job asks for. Non-preemptive, rigid.
#pragma once

#include "policy/policy.h"

namespace sl {

PolicyEntry fifo_easy_entry();

}  // namespace sl
