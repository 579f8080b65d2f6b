// Which files of NVIDIA's GPUs the processes of a control group of v2 may open. v1 has files to write that to (limits.h);
// v2 asks a program that is attached to the group, which the kernel runs when a device is opened or made.
#pragma once

#include <map>
#include <string>

#include "base/result.h"

namespace sl::agent {

inline constexpr int nvidia_major = 195;  // of the files /dev/nvidiaN

// From now on, for all in the group and below, also while they run; what they have open stays open. `gpus`: as in Limits.
// Replaces what an earlier call has set, whoever made it. Error "server_setup": the kernel refuses.
Status set_gpu_files_v2(const std::string& group, const std::map<int, bool>& gpus);

// Whether the kernel takes such programs from us for this group, which stays as it is. Error as above, with the reason.
Status can_set_gpu_files_v2(const std::string& group);

}  // namespace sl::agent
