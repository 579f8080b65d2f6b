// `default`: a scheduler that knows pods but not jobs, like kube-scheduler (policies.md 9.2). It is the baseline of
// `gang`, and can deadlock.
//
//   1 each job consists of as many pods as it asks for GPUs; pods queue by (priority descending, submission, random)
//   2 one pod per step goes to the server with the most free GPUs (and enough CPU and memory), at random among equals;
//     it is bound at once and holds its GPU. All pods of a job that must stay on one server follow the first
//   3 a job starts when a pod of every role, and at least its minimum of GPUs, are bound
//   4 deadlock: nothing runs, pods are bound, and no waiting pod fits. It is reported as the reason for waiting, and
//     after `deadlock_timeout_s`, of the jobs that hold pods, the last in the line give up theirs until the first that
//     can have all of its own has them
//   5 a frozen job gets its own GPUs at once or nothing
//
// Bindings and the random seed are kept in the policy's memory. Non-preemptive, rigid.
#pragma once

#include "policy/policy.h"

namespace sl {

PolicyEntry default_pods_entry();

}  // namespace sl
