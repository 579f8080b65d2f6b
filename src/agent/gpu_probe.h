// The GPUs of this server and how busy they are.
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

// NVIDIA GPUs through libnvidia-ml, loaded at run time; null if there is no such library or no GPU.
std::unique_ptr<GpuProbe> open_nvml();
// The GPUs of a probe that have this name; null if there are none.
std::unique_ptr<GpuProbe> only_type(std::unique_ptr<GpuProbe> probe, const std::string& name);
// `count` simulated GPUs, always marked as such.
std::unique_ptr<GpuProbe> make_simulated(int count);

}  // namespace sl::agent
