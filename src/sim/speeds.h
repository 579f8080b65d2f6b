// How fast a training goes where it is: the GPUs it has, their servers, and what else runs there.
#pragma once

#include <vector>

#include "core/core.h"
#include "sim/cluster.h"
#include "sim/trace.h"

namespace sl::sim {

class Speeds {
 public:
  // All must outlive it.
  Speeds(const Trace& trace, const Cluster& cluster, const Core& core);

  // Whether trainings slow one another down, so that speeds change while they run.
  bool depend_on_others() const { return depends_; }
  // 1: as on the GPUs it asked for, alone, on a server of speed 1.
  float of(const Job& job, const Allocation& gpus) const;

  static bool depend_on_others(const Trace& trace, const Cluster& cluster);

 private:
  float undisturbed(const Job& job, const ServerGpus& part) const;
  double share_of(const Job& job) const;

  const Trace& trace_;
  const Interference& interference_;
  const Core& core_;
  bool depends_;
  std::vector<float> of_server_;
};

}  // namespace sl::sim
