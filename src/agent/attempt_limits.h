// What an attempt may have of this server: from its job file, for plain processes (limits.h) and containers alike, and the
// processors that are its own. Those are kept in the attempt's folder, for the next agent.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "agent/limits.h"
#include "wire/agent_protocol.h"

namespace sl::agent {

// The share of this server, which is that of its GPUs; all of it if there is one server. Of memory at least
// memory_bytes_min: with less no program begins.
inline constexpr std::int64_t memory_bytes_min = 16 << 20;
Limits limits_of(const wire::StartAttempt& order, const std::vector<wire::AttemptPart>& parts);

// The processors that jobs may use, those of one core and one memory node beside each other.
std::vector<int> usable_cpus();
// As many of them as the limits say, the ones that the fewest others have. `taken`: of all others, repeated for each.
std::vector<int> choose_cpus(const Limits& limits, const std::vector<int>& usable, const std::vector<int>& taken);
// The same here and now, noted in the attempt's folder, beside those that `others` have noted in theirs.
std::string take_cpus(const Limits& limits, const std::string& attempt_dir, const std::vector<std::string>& others);

// Which device files of NVIDIA's GPUs may be opened by who holds these GPUs of the server. `present` reads the
// numbers of the files that there are, also of GPUs that are none of ours. Empty if it is not known which file is whose.
std::map<int, bool> gpu_files(const std::vector<wire::GpuReport>& gpus, const std::vector<int>& held,
                              const std::function<std::vector<int>()>& present);
std::vector<int> present_gpu_files(const std::string& folder = "/dev");

}  // namespace sl::agent
