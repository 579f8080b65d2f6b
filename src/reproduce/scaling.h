// What is believed of more GPUs from measurements on few.
#pragma once

#include <vector>

namespace sl::reproduce {

// The production speed model, told run times on the first `known` numbers of GPUs ([g-1]: on g), asked for `gpus`.
double predicted_speedup(const std::vector<double>& run_time_s, int known, int gpus);

}  // namespace sl::reproduce
