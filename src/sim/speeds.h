// How fast a training runs where it is: depends on its GPUs, their servers, and what else runs there.
#pragma once

#include <boost/container/small_vector.hpp>
#include <vector>

#include "core/core.h"
#include "sim/behaviour.h"
#include "trace/trace.h"

namespace sl::sim {

class Speeds {
 public:
  // All arguments must outlive it.
  Speeds(const trace::Trace& trace, const Cluster& cluster, const Behaviours& behaviours, const Core& core);

  // Whether trainings slow each other down, so that speeds change while they run.
  bool depend_on_others() const { return depends_; }
  // 1: as on the GPUs it asked for, alone, on a server of speed 1.
  float of(const Job& job, const Allocation& gpus) const;

  static bool depend_on_others(const trace::Trace& trace, const Cluster& cluster);

  // Like `held`, the GPUs that jobs have now, but a shared one counts once for each of its jobs.
  int gpus_given(int held) const;

 private:
  bool spans(const Allocation& gpus) const { return gpus.parts().size() > 1 && !cluster_.is_pool; }
  float of_measured(const Behaviour& known, const Job& job, const Allocation& gpus) const;
  double undisturbed(const Job& job, const ServerGpus& part) const;
  struct Company {
    boost::container::small_vector<JobIndex, 4> jobs;
    double share = 0;  // what they need of a GPU
  };
  double kept_in_company(const Job& job, const Company& company, std::size_t kind) const;
  double share_of(const Job& job) const;

  const trace::Trace& trace_;
  const Cluster& cluster_;
  const Behaviours& behaviours_;
  const Core& core_;
  bool depends_, may_share_;
  std::vector<std::size_t> kind_of_server_;
};

}  // namespace sl::sim
