// What starting jobs now is worth, and the best choice of starts: steps 2 to 4 of lyapunov.h.
#pragma once

#include <boost/container/small_vector.hpp>
#include <vector>

namespace sl {

using ByGpus = boost::container::small_vector<double, 8>;  // a figure for each number of GPUs

struct LyapunovJob {
  double length = 0;   // C
  double waited = 0;   // Z_i
  int least = 1;       // GPUs
  ByGpus time;         // T(least), T(least + 1)...
  int room = 1 << 30;  // the most GPUs for which there is room now
};
struct LyapunovSettings {
  double v = 5;
  double slot = 0.1;  // in units of tau, like all times of the jobs
  bool absolute = false;
};

// What starting the job is worth, one figure per entry of `time`; `q` and `z` are the sums over all waiting jobs.
ByGpus lyapunov_worth(const LyapunovJob& job, double q, double z, const LyapunovSettings& settings);
// By job: the number of GPUs it starts on, 0: not now. Jobs come in order of age, oldest first; of all that wait, those
// suffice of which for some number of GPUs fewer than `gpus` others are worth more. Up to `exact_ops` steps the knapsack
// is solved exactly, beyond that greedily by worth per GPU.
std::vector<int> lyapunov_choice(const std::vector<LyapunovJob>& jobs, double q, double z, int gpus,
                                 const LyapunovSettings& settings, double exact_ops = 5e7);

}  // namespace sl
