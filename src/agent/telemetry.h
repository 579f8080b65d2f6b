// The state of the machine and its GPUs.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "agent/gpu_watch.h"
#include "wire/agent_protocol.h"

namespace sl::agent {

class TelemetrySampler {
 public:
  // `gpus` must outlive it.
  explicit TelemetrySampler(GpuWatch& gpus);
  // `is_ours`: whether an attempt has started the process. Prints to stderr when the GPUs stop or resume answering.
  wire::Telemetry sample(const std::function<bool(std::int64_t pid)>& is_ours);

 private:
  std::vector<wire::GpuReport> sample_gpus(const std::function<bool(std::int64_t pid)>& is_ours);

  GpuWatch& gpus_;
  std::pair<double, double> cpu_before_;  // as from cpu_ticks()
};

}  // namespace sl::agent
