#include "agent/telemetry.h"

#include <cstdio>

#include "agent/clocks.h"
#include "agent/machine.h"
#include "agent/process_owner.h"
#include "agent/processes.h"

namespace sl::agent {

TelemetrySampler::TelemetrySampler(GpuWatch& gpus) : gpus_(gpus), cpu_before_(cpu_ticks()) {}

wire::Telemetry TelemetrySampler::sample(const IsOurs& is_ours) {
  wire::Telemetry telemetry;
  telemetry.at_us = wall_now().us;
  const auto now = cpu_ticks();
  if (now.second > cpu_before_.second)
    telemetry.cpu_utilization_pct = 100 * (now.first - cpu_before_.first) / (now.second - cpu_before_.second);
  cpu_before_ = now;
  telemetry.memory_used_bytes = (memory_kib("MemTotal") - memory_kib("MemAvailable")) * 1024;
  telemetry.gpus = sample_gpus(is_ours);
  return telemetry;
}

std::vector<wire::GpuReport> TelemetrySampler::sample_gpus(const IsOurs& is_ours) {
  const bool answered = gpus_.answers();
  std::vector<wire::GpuReport> gpus = gpus_.look();
  if (gpus_.answers() != answered)
    std::fprintf(stderr, "schedulearn agent: the NVIDIA library %s\n",
                 answered ? "does not answer; the GPUs count as unavailable until it does" : "answers again");
  for (wire::GpuReport& gpu : gpus) {
    std::erase_if(gpu.outside, [&](const wire::GpuProcess& process) { return is_ours(process.pid, gpu.index); });
    for (wire::GpuProcess& process : gpu.outside) {
      const auto owner = find_owner(static_cast<pid_t>(process.pid));
      if (owner) process.user = owner->user, process.program = owner->program;
    }
  }
  return gpus;
}

}  // namespace sl::agent
