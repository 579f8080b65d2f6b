// How a running attempt is asked to go over to other GPUs, and how it answers: files in its folder (docs/guide/jobs.md).
//
//   resize        the request: {"gpus": 2, "visible_devices": "0,1"}
//   resize.done   the same file, which the training renames once it uses these GPUs and no others
//   gpus          what the agent keeps of it for its successor (ResizedGpus)
#pragma once

#include <optional>
#include <string>

#include "agent/agent_logic.h"

namespace sl::agent {

// Before each request. Errors: the file cannot be written.
Status write_gpus(const std::string& attempt_dir, const ResizedGpus& gpus);
// Empty: it was never asked.
std::optional<ResizedGpus> read_gpus(const std::string& attempt_dir);

// Errors: the file cannot be written. Written again, a request that has been answered stays answered.
Status write_resize_request(const std::string& attempt_dir, const wire::Placement& placement);
bool is_resize_done(const std::string& attempt_dir);

}  // namespace sl::agent
