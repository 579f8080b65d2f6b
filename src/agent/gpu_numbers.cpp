#include "agent/gpu_numbers.h"

#include <algorithm>
#include <utility>

#include "agent/files.h"
#include "agent/warnings.h"
#include "agent/whole_file.h"
#include "wire/json.h"

namespace sl::agent {
namespace {

// What of a GPU is worth keeping.
wire::GpuReport identity_of(const wire::GpuReport& gpu) {
  wire::GpuReport identity;
  identity.index = gpu.index, identity.uuid = gpu.uuid, identity.name = gpu.name;
  identity.memory_total_bytes = gpu.memory_total_bytes;
  return identity;
}

}  // namespace

std::vector<wire::GpuReport> number_gpus(std::vector<wire::GpuReport> found,
                                         const std::vector<wire::GpuReport>& before) {
  if (std::any_of(found.begin(), found.end(), [](const wire::GpuReport& gpu) { return gpu.uuid.empty(); }))
    return found;
  std::vector<wire::GpuReport> gpus;
  for (const wire::GpuReport& known : before) {
    gpus.push_back(identity_of(known));
    gpus.back().missing = true;
  }
  const auto put = [&](const wire::GpuReport& gpu, auto&& fits) {
    const auto place = std::find_if(gpus.begin(), gpus.end(), fits);
    if (place == gpus.end()) return false;
    *place = gpu;
    return true;
  };
  std::erase_if(found, [&](const wire::GpuReport& gpu) {
    return put(gpu, [&](const wire::GpuReport& known) { return known.uuid == gpu.uuid; });
  });
  for (const wire::GpuReport& gpu : found) {
    if (!put(gpu, [](const wire::GpuReport& known) { return known.missing; })) gpus.push_back(gpu);
  }
  for (std::size_t i = 0; i < gpus.size(); ++i) gpus[i].index = static_cast<int>(i);
  return gpus;
}

std::vector<wire::GpuReport> number_gpus(std::vector<wire::GpuReport> found, const std::string& file) {
  const auto before = wire::read_json<std::vector<wire::GpuReport>>(read_text(file), wire::Unknown::ignore);
  std::vector<wire::GpuReport> gpus =
      number_gpus(std::move(found), before.ok() ? *before : std::vector<wire::GpuReport>{});
  std::vector<wire::GpuReport> kept;
  for (const wire::GpuReport& gpu : gpus) kept.push_back(identity_of(gpu));
  if (!replace_file(file, wire::write_json(kept) + "\n", {.synced = true})) warn_of_unwritten(file);
  return gpus;
}

std::vector<wire::GpuReport> with_indexes_of(const std::vector<wire::GpuReport>& known,
                                             std::vector<wire::GpuReport> found) {
  std::erase_if(found, [&](wire::GpuReport& gpu) {
    const auto same = std::find_if(known.begin(), known.end(), [&](const wire::GpuReport& other) {
      return gpu.uuid.empty() ? other.index == gpu.index : other.uuid == gpu.uuid;
    });
    if (same != known.end()) gpu.index = same->index;
    return same == known.end();
  });
  return found;
}

std::vector<wire::GpuReport> with_missing_marked(std::vector<wire::GpuReport> known,
                                                 const std::vector<wire::GpuReport>& seen) {
  for (wire::GpuReport& gpu : known) {
    gpu.missing =
        std::none_of(seen.begin(), seen.end(), [&](const wire::GpuReport& other) { return other.index == gpu.index; });
  }
  return known;
}

}  // namespace sl::agent
