// Speed on many GPUs, predicted from measurements on few.
#pragma once

#include <vector>

namespace sl::reproduce {

// The prediction of the production speed model for `gpus`, given the run times on 1 to `known` GPUs ([g-1]: on g).
double predicted_speedup(const std::vector<double>& run_time_s, int known, int gpus);

}  // namespace sl::reproduce
