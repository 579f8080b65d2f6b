// Gandiva's packing (policies.md 8.1): two jobs on the same GPUs when together they get more done than one after the
// other. What is remembered of a pair are the speeds measured while the two ran together.
#pragma once

#include <optional>
#include <vector>

#include "policy/snapshot.h"

namespace sl {

// Sum over both of speed together / speed alone; nothing while one of the four is unknown. Worth it above 1.
std::optional<double> packing_gain(const Job& a, const Job& b);

// Running jobs that would take a second one onto their GPUs, those that use their GPUs least first.
class Partners {
 public:
  explicit Partners(const Snapshot& snapshot);
  // A partner for this waiting job: shareable, of the same number of GPUs, with memory for both, and not known to be
  // slower with it. Taken at most once. None when there is none.
  JobIndex take(const Snapshot& snapshot, const Job& job);

 private:
  struct Partner {
    double utilization;
    JobIndex job;
  };
  std::vector<Partner> partners_;
};

// Of every pair that is slower together than one after the other, the one that started later.
std::vector<JobIndex> to_unpack(const Snapshot& snapshot);

}  // namespace sl
