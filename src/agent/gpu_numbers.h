// Which GPU of this server has which index. Attempts and the controller know GPUs by index, so it stays the same when
// the agent starts again, also when one has gone meanwhile and the library counts the others anew.
#pragma once

#include <string>
#include <vector>

#include "wire/agent_protocol.h"

namespace sl::agent {

// All GPUs by index: those found keep the index they had before, one that is new takes the index of one that is missing
// or else the next, and what is then not there is marked as missing. GPUs without a UUID cannot be told apart: they stay
// as they were found.
std::vector<wire::GpuReport> number_gpus(std::vector<wire::GpuReport> found,
                                         const std::vector<wire::GpuReport>& before);

// The same against the GPUs in the file, which is then brought up to date.
std::vector<wire::GpuReport> number_gpus(std::vector<wire::GpuReport> found, const std::string& file);

// What a later look has shown, with the indexes that these GPUs have in `known`. GPUs that were plugged in since are
// left out: they count from the agent's next start.
std::vector<wire::GpuReport> with_indexes_of(const std::vector<wire::GpuReport>& known,
                                             std::vector<wire::GpuReport> found);

// All of `known`, those marked as missing that are not in `seen`, which has the same indexes.
std::vector<wire::GpuReport> with_missing_marked(std::vector<wire::GpuReport> known,
                                                 const std::vector<wire::GpuReport>& seen);

}  // namespace sl::agent
