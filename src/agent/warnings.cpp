#include "agent/warnings.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <set>

namespace sl::agent {

void warn_of_podman(const std::string& engine) {
  std::fprintf(
      stderr,
      "schedulearn agent: %s gives containers no GPUs through its Docker API, so jobs with an image do not run "
      "here; use Docker with NVIDIA's container toolkit\n",
      engine.c_str());
}

void warn_of(const std::vector<wire::GpuReport>& gpus) {
  std::set<std::string> types;
  for (const wire::GpuReport& gpu : gpus) {
    types.insert(gpu.name);
    if (gpu.missing)
      std::fprintf(stderr, "schedulearn agent: GPU %d (%s, %s) is missing and counts as unavailable\n", gpu.index,
                   gpu.name.c_str(), gpu.uuid.c_str());
  }
  if (types.size() < 2) return;
  std::fprintf(
      stderr,
      "schedulearn agent: this server has GPUs of several types, so jobs that ask for a type do not run on it; "
      "run one agent per type:\n");
  for (const std::string& type : types)
    std::fprintf(stderr, "  schedulearn agent run --gpu-type '%s' …\n", type.c_str());
}

void warn_of_irremovable(const Error& error) {
  std::fprintf(stderr, "schedulearn agent: %s; it stays until the agent is started again\n", error.message.c_str());
}

void warn_of_unwritten(const std::string& path) {
  std::fprintf(stderr, "schedulearn agent: cannot write %s, which stays as it was: %s\n", path.c_str(),
               std::strerror(errno));
}

}  // namespace sl::agent
