// Looks at the GPUs from a separate thread: the NVIDIA library may hang for hours, and the agent must continue. GPUs
// are identified by their UUID and keep the index of the first look: when one falls off the bus, the library numbers
// the others anew.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "agent/gpu_probe.h"
#include "base/result.h"
#include "base/time.h"

namespace sl::agent {

class GpuWatch {
 public:
  using OpenProbe = std::function<std::unique_ptr<GpuProbe>()>;  // null: there are no GPUs
  // Waits for the first look. Errors: "no-gpu", "gpu-library-hangs".
  static Result<std::unique_ptr<GpuWatch>> open(OpenProbe open_probe, Duration patience = Duration::whole_seconds(10));
  ~GpuWatch();

  // Call it before any of the functions below: the GPUs of the first look with the indexes to give them, and those that
  // are missing. Later looks identify them by their UUID.
  void number(std::vector<wire::GpuReport> numbered) { known_ = std::move(numbered); }
  // All GPUs, as the first look found them.
  const std::vector<wire::GpuReport>& known() const { return known_; }
  bool simulated() const { return simulated_; }
  const std::string& driver_version() const { return driver_version_; }
  // The same, with GPUs that the latest look did not find marked as missing.
  std::vector<wire::GpuReport> known_now() const;
  // Those of the latest look; none if the library has not answered for `patience`. Requests the next look.
  std::vector<wire::GpuReport> look();
  bool answers() const { return answers_; }   // as of the last look()
  Instant looked() const { return looked_; }  // likewise: when the look that look() returned was requested

 private:
  struct Shared;
  GpuWatch() = default;

  std::shared_ptr<Shared> shared_;  // shared with the thread, which may outlive us
  Duration patience_;
  std::vector<wire::GpuReport> known_;
  bool simulated_ = false;
  std::string driver_version_;
  bool answers_ = true;
  Instant looked_;
};

}  // namespace sl::agent
