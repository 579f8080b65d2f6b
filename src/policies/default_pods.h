// `default`: what a scheduler does that knows pods and not jobs, like kube-scheduler's (policies.md 9.2). The baseline
// of `gang`, and able to deadlock.
//
//   1 each job is as many pods as it asks for GPUs; pods queue by (priority descending, submission, chance)
//   2 one pod a step: of the servers with a free GPU (and the CPU and memory) the one with most free GPUs, by chance
//   among
//     equals; it is bound at once and holds its GPU. All pods of a job that must stay on one server follow the first
//   3 a job starts when a pod of every role, and no fewer than its minimum of GPUs, are bound
//   4 deadlock: nothing runs, pods are bound, and none that waits fits. It is reported as the reason of waiting, and
//   after
//     `deadlock_timeout_s` the youngest job that holds pods gives them up
//
// Bindings and the seed of chance are kept in the policy's memory. Non-preemptive, rigid.
#pragma once

#include "policy/policy.h"

namespace sl {

PolicyEntry default_pods_entry();

}  // namespace sl
