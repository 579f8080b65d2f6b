// Whether a policy keeps the rules that all policies here keep, tried on small generated workloads, and what its
// decisions cost. For authors of policies: `schedulearn policy check`.
//
//   every job of a workload ends                        nothing it decides is refused by the core
//   the same seed gives the same schedule               no GPU idles that a waiting job could take, if it claims so
//   restarted in the middle it decides the same (only noted: it may be meant)
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "study/experiment.h"

namespace sl::study {

struct BrokenRule {
  std::string rule;  // "every job ends"
  std::string what;  // what happened, with the line of the policy if it reported one
  std::uint64_t seed = 0;
};

struct PolicyCheck {
  std::size_t workloads = 0;
  std::vector<BrokenRule> broken;  // at most one entry per rule
  std::vector<BrokenRule> notes;
  std::size_t decisions_measured = 0;
  int waiting = 0, servers = 0;  // in the measurement
  double decision_ms_p50 = 0, decision_ms_p99 = 0;
};

// Stops early when `keep_on` returns false.
PolicyCheck check_policy(const PolicyChoice& choice, std::uint64_t seeds, const std::function<bool()>& keep_on);

// How to repeat the simulation of a seed: the workload and `--seed 5 --servers 4x4 --blind`.
std::string checked_workload(std::uint64_t seed);  // "poisson:jobs=40,…"
std::string checked_options(std::uint64_t seed);
// The whole command, for a shell. `policy`: its name, or the path of its file.
std::string checked_command(std::uint64_t seed, const std::string& policy, const GivenParameters& parameters);

}  // namespace sl::study
