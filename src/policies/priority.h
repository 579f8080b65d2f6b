// Priority with preemption (policies.md 12): jobs of a higher class take the place of jobs of a lower one.
//
//   1 order: higher priority, then (submission, id); what fits starts, what does not is passed over
//   2 a job that does not fit takes the place of jobs of strictly lower class: on each server the lowest class goes
//     first, in a class the one started last; of the servers, the one where the highest class that has to go is lowest,
//     then where it started last; jobs that turn out not to be in the way are spared
//   3 victims go back to their place in the queue by their submission time
//
// Started last stands for "least work lost". Preemptive, rigid.
#pragma once

#include "policy/policy.h"

namespace sl {

PolicyEntry priority_entry();

}  // namespace sl
