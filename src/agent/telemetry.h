// The state of the machine and its GPUs.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "agent/gpu_watch.h"
#include "wire/agent_protocol.h"

namespace sl::agent {

using IsOurs = std::function<bool(std::int64_t pid, int gpu)>;

class TelemetrySampler {
 public:
  // `gpus` must outlive it.
  explicit TelemetrySampler(GpuWatch& gpus);
  // `is_ours`: whether an attempt has started the process, which uses the GPU with this index. Prints to stderr when the GPUs stop or resume answering.
  wire::Telemetry sample(const IsOurs& is_ours);

 private:
  std::vector<wire::GpuReport> sample_gpus(const IsOurs& is_ours);

  GpuWatch& gpus_;
  std::pair<double, double> cpu_before_;  // as from cpu_ticks()
};

}  // namespace sl::agent
