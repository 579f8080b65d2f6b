// Lines on standard error for the person who runs the agent.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "wire/agent_protocol.h"

namespace sl::agent {

void warn_of_podman(const std::string& engine);
// Of GPUs that are missing, and of several types on one server.
void warn_of(const std::vector<wire::GpuReport>& gpus);
void warn_of_irremovable(const Error& error);
// A file of ours that stays as it was, for the reason in errno.
void warn_of_unwritten(const std::string& path);

}  // namespace sl::agent
