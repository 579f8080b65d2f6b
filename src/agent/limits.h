// What an attempt may have of its server at most, whatever it starts. Carried out by control groups of the kernel.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace sl::agent {

struct Limits {
  std::optional<std::int64_t> memory_bytes;  // and no swap besides
  std::optional<double> cpus;                // processor seconds per second
  std::optional<int> processes;              // and threads
  std::string cpu_set;                       // numbers of processors, "0-3,8"; empty: all
  std::map<int, bool> gpus;                  // by the number N of its file /dev/nvidiaN: whether it may be opened
  friend bool operator==(const Limits&, const Limits&) = default;
};

// As words "NAME=VALUE", which launchers of other versions may not all know.
std::vector<std::string> to_words(const Limits& limits);
Limits to_limits(const std::vector<std::string>& words);

// "0-3,8"
std::string cpu_list(const std::vector<int>& cpus);
std::vector<int> parse_cpu_list(const std::string& text);

// What of an attempt's limits has a control group, by the kernel's controller: "memory", "cpu", "cpuset", "pids",
// "devices". Of v2 they are all one group, also for devices, where it has programs instead of a controller
// (gpu_files.h). As one text: "memory=/sys/fs/… pids=/sys/fs/…".
using LimitGroups = std::map<std::string, std::string>;
std::string to_text(const LimitGroups& groups);
LimitGroups parse_limit_groups(const std::string& text);

// The controllers that these limits need.
std::vector<std::string> controllers_for(const Limits& limits);
// How a controller is called where users read of it: "cpu" limits "cpus".
std::string limited_by(const std::string& controller);

// Writes what there is a group for. Error "server_setup": the kernel refuses it.
Status apply_limits(const LimitGroups& groups, const Limits& limits);

// What the kernel has counted in the group until now.
struct MemoryUse {
  std::int64_t kills = 0;  // processes that it has killed because there was no memory left for them
  std::optional<std::int64_t> limit_bytes, peak_bytes;
};
MemoryUse memory_use(const LimitGroups& groups);

}  // namespace sl::agent
