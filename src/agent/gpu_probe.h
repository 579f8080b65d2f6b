// What GPUs this server has and how busy they are.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "wire/agent_protocol.h"

namespace sl::agent {

class GpuProbe {
 public:
  virtual ~GpuProbe() = default;
  virtual bool simulated() const = 0;
  virtual std::string driver_version() const = 0;
  virtual std::vector<wire::GpuReport> sample() = 0;
};

// NVIDIA GPUs through libnvidia-ml, loaded at run time; null when there is no such library or no GPU.
std::unique_ptr<GpuProbe> open_nvml();
// `count` GPUs that do not exist, always marked so.
std::unique_ptr<GpuProbe> make_simulated(int count);

}  // namespace sl::agent
