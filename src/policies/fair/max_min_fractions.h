// What every job is due under max-min fairness over GPU types: step 2 of max_min.h.
#pragma once

#include <map>
#include <vector>

#include "model/job.h"

namespace sl {

using GpuTypeColumns = std::map<GpuTypeIndex, std::size_t>;  // where each type is in what goes by type

// Speed by type, in hundredths of the fastest: as the job reported it, else from its profile; a type of unknown speed
// counts as the mean of the others.
std::vector<int> speeds_by_type(const Job& job, const GpuTypeColumns& types);

struct FairClass {
  double jobs = 1;  // number of jobs that are alike
  double gpus = 1;  // of each job
  double weight = 1;
  std::vector<double> speed;  // by type; 0: cannot use it
  friend bool operator==(const FairClass&, const FairClass&) = default;
};

// By class and type: the fraction of time each job of the class gets there.
std::vector<std::vector<double>> max_min_fractions(const std::vector<FairClass>& classes,
                                                   const std::vector<double>& gpus_by_type);

}  // namespace sl
