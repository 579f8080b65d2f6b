// Lyapunov drift plus penalty (policies.md 11): a job may wait for more GPUs while queues are short; the longer they
// are, the fewer GPUs it accepts.
//
// clang-format off
//   1 length C of a job: its run time on one GPU; T(g): on g GPUs, computing and communicating; g*: where T is least
//   2 Q: sum of the waiting jobs' lengths; Z: sum of their waiting times, in slots of `slot_s`. All times in units of
//     tau, the mean length of the latest 1,000 jobs, current or finished, or `tau_s`
//   3 starting job i on g GPUs is worth Q*C_i + Z*(Z_i + slot) - V*c_i(g); the penalty c is T(g) - T(g*) (`regret`) or
//     T(g) (`absolute`)
//   4 of all ways to start jobs on the free GPUs, the one worth most is taken (multiple-choice knapsack, solved
//     exactly); only starts worth more than 0
//   5 only starts that the placer could place now are weighed; those that it then cannot place together with the others
//     are tried with fewer GPUs that are still worth it, and the rest is weighed again
// clang-format on
//
// Ties: more jobs, then older ones, then fewer GPUs. With V = 0 jobs start on whatever is free. Non-preemptive; the
// number of GPUs is chosen at the start and stays. Lengths come from steps and step time, bytes and bandwidth if the
// job's model has them; else from the estimates; else `default_est_s`, with linear speedup. Source: talk S004 names the
// method; the formula is ours, after Neely 2010.
#pragma once

#include "policy/policy.h"

namespace sl {

PolicyEntry lyapunov_entry();

}  // namespace sl
