// Gandiva's packing (policies.md 8.1): two jobs share the same GPUs if together they get more done than one after the
// other. All that is remembered about a pair is the speeds measured while the two ran together.
#pragma once

#include <optional>
#include <vector>

#include "policy/snapshot.h"

namespace sl {

// The sum over both jobs of speed together / speed alone; packing is worth it above 1. A job that has never run alone,
// because it was packed at its start, counts as slowed down like its partner. Nothing: unknown for both.
std::optional<double> packing_gain(const Job& a, const Job& b);

// Running jobs that would accept a second job on their GPUs, those that use their GPUs least first.
class Partners {
 public:
  explicit Partners(const Snapshot& snapshot);
  // A partner for this waiting job: shareable, with the same number of GPUs, memory for both, and not known to be
  // slower with it. Each partner is taken at most once. JobIndex none: there is no partner.
  JobIndex take(const Snapshot& snapshot, const Job& job);

 private:
  struct Partner {
    double utilization;
    JobIndex job;
  };
  std::vector<Partner> partners_;
};

// Two running jobs on the same GPUs, in the order in which they last started.
struct PackedPair {
  JobIndex earlier, later;
};
std::vector<PackedPair> packed_pairs(const Snapshot& snapshot, const std::vector<JobIndex>& sharing);

}  // namespace sl
