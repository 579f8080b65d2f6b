// What every job is due under max-min fairness over GPU types: step 2 of max_min.h.
#pragma once

#include <vector>

namespace sl {

struct FairClass {
  double jobs = 1;  // number of jobs that are alike
  double gpus = 1;  // of each job
  double weight = 1;
  std::vector<double> speed;  // by type; 0: cannot use it
};

// By class and type: the fraction of time each job of the class gets there.
std::vector<std::vector<double>> max_min_fractions(const std::vector<FairClass>& classes,
                                                   const std::vector<double>& gpus_by_type);

}  // namespace sl
