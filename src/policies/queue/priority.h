// Priority with preemption (policies.md 12): jobs of a higher class take the place of jobs of a lower one.
//
//   1 order: higher priority, then (submission, id); a job that fits starts, one that does not is passed over
//   2 a job that does not fit takes the place of jobs of a strictly lower class: on each server the lowest class goes
//     first, within a class the one started last; of the servers, the one is taken where the highest class that has to
//     go is lowest, then where it started last; jobs that turn out not to be in the way are spared
//   3 victims go back to the place in the queue that their submission time gives them
//
// "Started last" approximates "least work lost". Preemptive, rigid.
#pragma once

#include "policy/policy.h"

namespace sl {

PolicyEntry priority_entry();

}  // namespace sl
