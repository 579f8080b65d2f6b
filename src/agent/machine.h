// What the kernel reports about the agent's machine.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace sl::agent {

// A port that is free right now; for ranks of a job to meet on.
int free_port();
// A line of /proc/meminfo; 0 if there is none.
std::int64_t memory_kib(const char* key);
// Processor time spent working and in total, in ticks since boot.
std::pair<double, double> cpu_ticks();
// 0 if there is no such process.
std::int64_t parent_of(std::int64_t pid);
// Without the domain.
std::string host_name();

}  // namespace sl::agent
