#include "agent/failed_ends.h"

#include <algorithm>
#include <sstream>
#include <utility>

namespace sl::agent {
namespace {

// The first GPU of the attempt that is not among these; -1: all are there.
int missing_gpu(const LauncherState& state, const std::vector<wire::GpuReport>& gpus) {
  std::istringstream parts(state.gpus);
  for (std::string part; std::getline(parts, part, ',');) {
    const int index = std::atoi(part.c_str());
    if (std::ranges::none_of(gpus, [&](const wire::GpuReport& gpu) { return gpu.index == index && !gpu.missing; }))
      return index;
  }
  return -1;
}

std::string how_it_ended(const LauncherState& state) {
  return state.signal ? "signal " + std::to_string(*state.signal) : "exit code " + std::to_string(*state.exit_code);
}

// It failed by itself, so it may be a GPU's fault.
bool has_failed(const LauncherState& state) {
  const bool failed = state.signal || state.exit_code.value_or(0) != 0;
  return state.state == "exited" && failed && state.failure_kind.empty() && state.stopped_by.empty();
}

}  // namespace

LauncherState explained_by(const std::vector<wire::GpuReport>& gpus, LauncherState state) {
  const int gpu = has_failed(state) ? missing_gpu(state, gpus) : -1;
  if (gpu < 0) return state;
  state.failure_kind = "gpu_error";
  state.failure_message = "GPU " + std::to_string(gpu) + " no longer answers (" + how_it_ended(state) + ")";
  return state;
}

LauncherState FailedEnds::explain(const LauncherState& state) const {
  return gpus_.simulated() || !gpus_.answers() ? state : explained_by(gpus_.known_now(), state);
}

bool FailedEnds::hold(const LauncherState& state, Instant now) {
  if (!has_failed(state) || state.gpus.empty() || gpus_.simulated()) return false;
  held_.try_emplace(state.key, Held{state, now});
  (void)gpus_.look();  // asks for the next
  return true;
}

void FailedEnds::tick(Instant now) {
  if (held_.empty()) return;
  const std::vector<wire::GpuReport> gpus = gpus_.look();
  for (auto at = held_.begin(); at != held_.end();) {
    if (gpus_.looked() < at->second.since && now < at->second.since + patience) {
      ++at;
      continue;
    }
    const LauncherState state = std::move(at->second.state);
    at = held_.erase(at);
    tell_(explained_by(gpus, state));
  }
}

}  // namespace sl::agent
