#include "agent/attempt_limits.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <numeric>
#include <tuple>

#include "agent/files.h"

namespace sl::agent {
namespace {

constexpr const char* cpus_file = "/cpus";

// The part of the job's resources that this server is to give.
double resource_share(const wire::StartAttempt& order, const std::vector<wire::AttemptPart>& parts) {
  if (parts.size() < 2) return 1;
  const int all = std::accumulate(parts.begin(), parts.end(), 0,
                                  [](int sum, const wire::AttemptPart& part) { return sum + part.gpus; });
  if (all == 0) return 1.0 / static_cast<double>(parts.size());
  return static_cast<double>(order.placement.gpus.size()) / all;
}

int id_in(const std::string& path) { return std::atoi(read_text(path).c_str()); }

}  // namespace

Limits limits_of(const wire::StartAttempt& order, const std::vector<wire::AttemptPart>& parts) {
  const wire::ResourceSpec& asked = order.spec.resources;
  const double share = resource_share(order, parts);
  Limits limits;
  if (asked.memory_bytes.value_or(0) > 0)
    limits.memory_bytes =
        std::max(memory_bytes_min, static_cast<std::int64_t>(static_cast<double>(*asked.memory_bytes) * share));
  if (asked.cpus.value_or(0) > 0) limits.cpus = *asked.cpus * share;
  limits.processes = asked.processes.value_or(wire::processes_default);
  return limits;
}

std::vector<int> usable_cpus() {
  cpu_set_t set;
  std::vector<int> cpus;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  std::map<int, std::tuple<int, int>> place;
  for (const int cpu : cpus) {
    const std::string topology = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
    place[cpu] = {id_in(topology + "physical_package_id"), id_in(topology + "core_id")};
  }
  std::ranges::stable_sort(cpus, {}, [&](int cpu) { return place[cpu]; });
  return cpus;
}

std::vector<int> choose_cpus(const Limits& limits, const std::vector<int>& usable, const std::vector<int>& taken) {
  const auto wanted = static_cast<std::size_t>(std::ceil(limits.cpus.value_or(0)));
  std::vector<int> chosen = usable;
  std::ranges::stable_sort(chosen, {}, [&](int cpu) { return std::ranges::count(taken, cpu); });
  chosen.resize(std::min(chosen.size(), wanted));
  return chosen;
}

std::string take_cpus(const Limits& limits, const std::string& attempt_dir, const std::vector<std::string>& others) {
  std::vector<int> taken;
  for (const std::string& other : others)
    std::ranges::copy(parse_cpu_list(read_text(other + cpus_file)), std::back_inserter(taken));
  const std::string cpus = cpu_list(choose_cpus(limits, usable_cpus(), taken));
  write_text(attempt_dir + cpus_file, cpus + '\n');
  return cpus;
}

std::map<int, bool> gpu_files(const std::vector<wire::GpuReport>& gpus, const std::vector<int>& held,
                              const std::function<std::vector<int>()>& present) {
  std::map<int, bool> files;
  for (const int index : held) {
    const auto gpu = std::ranges::find(gpus, index, &wire::GpuReport::index);
    if (gpu == gpus.end() || !gpu->device_number) return {};
    files[*gpu->device_number] = true;
  }
  for (const int number : present()) files.try_emplace(number, false);
  for (const wire::GpuReport& gpu : gpus) {
    if (gpu.device_number) files.try_emplace(*gpu.device_number, false);
  }
  return files;
}

std::vector<int> present_gpu_files(const std::string& folder) {
  const std::string prefix = "nvidia";
  std::vector<int> numbers;
  std::error_code failed;
  for (std::filesystem::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
    const std::string name = at->path().filename();
    int number = 0;
    const char* const last = name.data() + name.size();
    if (name.size() > prefix.size() && name.starts_with(prefix) &&
        std::from_chars(name.data() + prefix.size(), last, number).ptr == last)
      numbers.push_back(number);
  }
  return numbers;
}

}  // namespace sl::agent
