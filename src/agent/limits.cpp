#include "agent/limits.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <set>
#include <sstream>
#include <utility>

#include "agent/cgroups.h"
#include "agent/gpu_files.h"
#include "agent/proc_file.h"

namespace sl::agent {
namespace {

constexpr int period_us = 100'000, quota_us_min = 1'000;  // of the kernel's bandwidth control
constexpr double cpus_max = 1e6;
constexpr std::int64_t no_limit = std::int64_t{1} << 60;  // v1 writes its largest number for none

// A file of a control group, and what to write there.
struct Setting {
  const char *controller, *file_v1, *file_v2;  // null: that version has none
  std::string value_v1, value_v2;
  std::vector<int> tolerated = {};  // errors that change nothing for the attempt
};

std::vector<Setting> settings_of(const Limits& limits) {
  std::vector<Setting> settings;
  if (limits.memory_bytes) {
    const std::string bytes = std::to_string(*limits.memory_bytes);
    settings.push_back({"memory", "memory.limit_in_bytes", "memory.max", bytes, bytes});
    // Not there without swap.
    settings.push_back({"memory", "memory.memsw.limit_in_bytes", "memory.swap.max", bytes, "0", {ENOENT, EOPNOTSUPP}});
  }
  if (limits.cpus) {
    const int quota = std::max(quota_us_min, static_cast<int>(std::min(*limits.cpus, cpus_max) * period_us));
    const std::string text = std::to_string(quota);
    // v1 refuses more than the agent's own group has, which is its limit then.
    settings.push_back({"cpu", "cpu.cfs_quota_us", "cpu.max", text, text + " " + std::to_string(period_us), {EINVAL}});
  }
  if (limits.processes) {
    const std::string count = std::to_string(*limits.processes);
    settings.push_back({"pids", "pids.max", "pids.max", count, count});
  }
  if (!limits.cpu_set.empty())
    settings.push_back({"cpuset", "cpuset.cpus", "cpuset.cpus", limits.cpu_set, limits.cpu_set});
  for (const auto& [gpu, may_open] : limits.gpus) {
    const std::string device = "c " + std::to_string(nvidia_major) + ":" + std::to_string(gpu) + " rwm";
    settings.push_back({"devices", may_open ? "devices.allow" : "devices.deny", nullptr, device, ""});
  }
  return settings;
}

Error refused(const std::string& path, const std::string& value) {
  return unavailable("server_setup", "cannot limit it: writing " + value + " to " + path + ": " + std::strerror(errno));
}

int write_setting(const std::string& path, const std::string& value) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) return errno;
  const int error = ::write(file, value.data(), value.size()) < 0 ? errno : 0;
  ::close(file);
  return error;
}

// "7" of "low 0\noom_kill 7\n"
std::int64_t figure_of(const std::string& text, const std::string& name) {
  std::istringstream lines(text);
  std::string word;
  for (std::int64_t figure = 0; lines >> word >> figure;) {
    if (word == name) return figure;
  }
  return 0;
}

std::optional<std::int64_t> number_in(const std::string& path) {
  const std::string text = read_proc_file(path);
  char* end = nullptr;
  const std::int64_t number = std::strtoll(text.c_str(), &end, 10);
  return end == text.c_str() || number >= no_limit ? std::nullopt : std::optional(number);
}

std::string word_list(const std::map<int, bool>& gpus, bool may_open) {
  std::vector<int> numbers;
  for (const auto& [gpu, allowed] : gpus) {
    if (allowed == may_open) numbers.push_back(gpu);
  }
  return cpu_list(numbers);
}

}  // namespace

std::vector<std::string> to_words(const Limits& limits) {
  std::vector<std::string> words;
  if (limits.memory_bytes) words.push_back("memory_bytes=" + std::to_string(*limits.memory_bytes));
  if (limits.cpus) words.push_back("milli_cpus=" + std::to_string(std::llround(*limits.cpus * 1000)));
  if (limits.processes) words.push_back("processes=" + std::to_string(*limits.processes));
  if (!limits.cpu_set.empty()) words.push_back("cpu_set=" + limits.cpu_set);
  for (const bool may_open : {true, false}) {
    if (const std::string gpus = word_list(limits.gpus, may_open); !gpus.empty())
      words.push_back((may_open ? "gpus_allowed=" : "gpus_denied=") + gpus);
  }
  return words;
}

Limits to_limits(const std::vector<std::string>& words) {
  Limits limits;
  for (const std::string& word : words) {
    const std::size_t equals = std::min(word.find('='), word.size() - (word.empty() ? 0 : 1));
    const std::string name = word.substr(0, equals), value = word.empty() ? "" : word.substr(equals + 1);
    if (name == "memory_bytes") limits.memory_bytes = std::atoll(value.c_str());
    if (name == "milli_cpus") limits.cpus = static_cast<double>(std::atoll(value.c_str())) / 1000;
    if (name == "processes") limits.processes = std::atoi(value.c_str());
    if (name == "cpu_set") limits.cpu_set = value;
    if (name != "gpus_allowed" && name != "gpus_denied") continue;
    for (const int gpu : parse_cpu_list(value)) limits.gpus[gpu] = name == "gpus_allowed";
  }
  return limits;
}

std::string cpu_list(const std::vector<int>& cpus) {
  const std::set<int> sorted(cpus.begin(), cpus.end());
  std::string text;
  for (auto at = sorted.begin(); at != sorted.end();) {
    const int first = *at;
    int last = first;
    while (++at != sorted.end() && *at == last + 1) ++last;
    text += (text.empty() ? "" : ",") + std::to_string(first) + (last > first ? "-" + std::to_string(last) : "");
  }
  return text;
}

std::vector<int> parse_cpu_list(const std::string& text) {
  constexpr int number_max = 1 << 16;
  std::vector<int> cpus;
  std::istringstream ranges(text);
  for (std::string range; std::getline(ranges, range, ',');) {
    if (range.empty() || range[0] < '0' || range[0] > '9') continue;
    const std::size_t dash = range.find('-');
    const int first = std::atoi(range.c_str());
    const int last = dash == std::string::npos ? first : std::atoi(range.c_str() + dash + 1);
    for (int cpu = first; cpu <= std::min(last, number_max); ++cpu) cpus.push_back(cpu);
  }
  return cpus;
}

std::string to_text(const LimitGroups& groups) {
  std::string text;
  for (const auto& [controller, path] : groups) text += (text.empty() ? "" : " ") + controller + "=" + path;
  return text;
}

LimitGroups parse_limit_groups(const std::string& text) {
  LimitGroups groups;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (const std::size_t equals = word.find('='); equals != std::string::npos)
      groups[word.substr(0, equals)] = word.substr(equals + 1);
  }
  return groups;
}

std::vector<std::string> controllers_for(const Limits& limits) {
  std::set<std::string> controllers;
  for (const Setting& setting : settings_of(limits)) controllers.insert(setting.controller);
  return {controllers.begin(), controllers.end()};
}

std::string limited_by(const std::string& controller) {
  static const std::map<std::string, std::string> names = {
      {"cpu", "cpus"}, {"cpuset", "cpu_set"}, {"pids", "processes"}};
  const auto at = names.find(controller);
  return at == names.end() ? controller : at->second;
}

Status apply_limits(const LimitGroups& groups, const Limits& limits) {
  for (const Setting& setting : settings_of(limits)) {
    const auto group = groups.find(setting.controller);
    if (group == groups.end()) continue;
    const bool v2 = is_v2_cgroup(group->second);
    const char* file = v2 ? setting.file_v2 : setting.file_v1;
    if (!file) continue;
    const std::string path = group->second + "/" + file, &value = v2 ? setting.value_v2 : setting.value_v1;
    const int error = write_setting(path, value);
    if (error == 0 || std::ranges::find(setting.tolerated, error) != setting.tolerated.end()) continue;
    errno = error;
    return refused(path, value);
  }
  const auto devices = groups.find("devices");
  if (devices == groups.end() || limits.gpus.empty() || !is_v2_cgroup(devices->second)) return {};
  return set_gpu_files_v2(devices->second, limits.gpus);
}

MemoryUse memory_use(const LimitGroups& groups) {
  const auto at = groups.find("memory");
  if (at == groups.end()) return {};
  const std::string& group = at->second;
  const bool v2 = is_v2_cgroup(group);
  MemoryUse use;
  use.kills = figure_of(read_proc_file(group + (v2 ? "/memory.events" : "/memory.oom_control")), "oom_kill");
  use.limit_bytes = number_in(group + (v2 ? "/memory.max" : "/memory.limit_in_bytes"));
  use.peak_bytes = number_in(group + (v2 ? "/memory.peak" : "/memory.max_usage_in_bytes"));
  return use;
}

}  // namespace sl::agent
