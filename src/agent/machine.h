// What the kernel tells of the machine the agent runs on.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace sl::agent {

// Nobody uses it just now; for ranks of a job to meet on.
int free_port();
// A line of /proc/meminfo; 0 when there is none.
std::int64_t memory_kib(const char* key);
// Processor time spent working and in all, in ticks since boot.
std::pair<double, double> cpu_ticks();
// 0 when there is no such process.
std::int64_t parent_of(std::int64_t pid);
// Without its domain.
std::string host_name();

}  // namespace sl::agent
