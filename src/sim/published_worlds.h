// The worlds of published.h. Rules that all share: within a second finishes come before arrivals and those before
// starts; jobs are numbered in order of submission.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/world.h"

namespace sl::sim {

struct SecondsJob {
  std::int64_t submitted = 0, duration = 0;
  int gpus = 1;
};
using SecondsTrace = std::vector<SecondsJob>;

struct Shape {
  int servers = 1;
  int gpus_per_server = 8;
  int gpus() const { return servers * gpus_per_server; }
};

SimulationResult tiresias_fifo(const SecondsTrace& jobs, const Shape& shape);
SimulationResult tiresias_srtf(const SecondsTrace& jobs, const Shape& shape);
SimulationResult tiresias_dlas_gpu(const SecondsTrace& jobs, const Shape& shape);
SimulationResult lucid_fifo(const SecondsTrace& jobs, const Shape& shape);
SimulationResult lucid_srtf(const SecondsTrace& jobs, const Shape& shape);
SimulationResult lucid_tiresias(const SecondsTrace& jobs, const Shape& shape);

}  // namespace sl::sim
