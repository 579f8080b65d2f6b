// Lyapunov drift plus penalty (policies.md 11): a job may wait for more GPUs as long as queues are short; the longer
// they are, the fewer GPUs it accepts.
//
//   1 length C of a job: its run time on one GPU; T(g): on g GPUs, computing and communicating; g*: where T is least
//   2 Q: sum of the lengths that wait; Z: sum of the times waited, in slots of `slot_s`. All times in units of tau
//   3 starting job i on g GPUs is worth Q*C_i + Z*(Z_i + slot) - V*c_i(g); the penalty c is T(g) - T(g*) (`regret`) or
//     T(g) (`absolute`)
//   4 of all ways to start jobs on the free GPUs the one worth most is taken (multiple-choice knapsack, solved
//   exactly);
//     only starts worth more than 0
//   5 only what the placer could place now is weighed; what it then cannot place beside the others is tried with fewer
//     GPUs that are still worth it, and the rest is weighed again
//
// Ties: more jobs, then older ones, then fewer GPUs. V = 0 starts whatever there is. Non-preemptive; the number of GPUs
// is chosen at the start and stays. Lengths: steps and step time, bytes and bandwidth where the job's model has them;
// else the estimates; else `default_est_s`, with linear speed-up. Source: the seed's talk names the method, the formula
// is ours, after Neely 2010.
#pragma once

#include <boost/container/small_vector.hpp>
#include <vector>

#include "policy/policy.h"

namespace sl {

using ByGpus = boost::container::small_vector<double, 8>;  // a figure for each number of GPUs

struct LyapunovJob {
  double length = 0;   // C
  double waited = 0;   // Z_i
  int least = 1;       // GPUs
  ByGpus time;         // T(least), T(least + 1)...
  int room = 1 << 30;  // for how many GPUs there is a place now
};
struct LyapunovSettings {
  double v = 5;
  double slot = 0.1;  // in units of tau, like all times of the jobs
  bool absolute = false;
};

// What starting it is worth, in the order of its times; `q` and `z` are the sums over all that wait.
ByGpus lyapunov_worth(const LyapunovJob& job, double q, double z, const LyapunovSettings& settings);
// By job: on how many GPUs it starts, 0: not now. Jobs come in order of age, oldest first. `exact_ops`: up to so many
// steps the knapsack is solved exactly, beyond that greedily by worth per GPU.
std::vector<int> lyapunov_choice(const std::vector<LyapunovJob>& jobs, int gpus, const LyapunovSettings& settings,
                                 double exact_ops = 5e7);

PolicyEntry lyapunov_entry();

}  // namespace sl
