// The worlds of published.h. Rules that all share: within a second, finishes come before arrivals and those before
// starts; jobs are numbered in order of submission.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/world.h"

namespace sl::study {

struct SecondsJob {
  std::int64_t submitted = 0, duration = 0;
  int gpus = 1;
  std::string id, application;  // for Pollux: what is trained, and the batch over all GPUs
  int batch = 0;
};
using SecondsTrace = std::vector<SecondsJob>;

inline constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
inline Instant at_second(std::int64_t second) { return Instant{second * 1'000'000}; }

struct Shape {
  int servers = 1;
  int gpus_per_server = 8;
  int gpus() const { return servers * gpus_per_server; }
};

Result<sim::SimulationResult> tiresias_fifo(const SecondsTrace& jobs, const Shape& shape);
Result<sim::SimulationResult> tiresias_srtf(const SecondsTrace& jobs, const Shape& shape);
Result<sim::SimulationResult> tiresias_dlas_gpu(const SecondsTrace& jobs, const Shape& shape);
Result<sim::SimulationResult> tiresias_dlas_gpu_mended(const SecondsTrace& jobs, const Shape& shape);
Result<sim::SimulationResult> lucid_fifo(const SecondsTrace& jobs, const Shape& shape);
Result<sim::SimulationResult> lucid_srtf(const SecondsTrace& jobs, const Shape& shape);
Result<sim::SimulationResult> lucid_tiresias(const SecondsTrace& jobs, const Shape& shape);
// Errors "semantics-trace": a training that was not measured, or that needs more GPUs than there are.
Result<sim::SimulationResult> pollux_tiresias(const SecondsTrace& jobs, const Shape& shape);

}  // namespace sl::study
