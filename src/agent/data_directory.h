// The agent's own files in its data directory.
#pragma once

#include <cstdint>
#include <string>

#include "agent/agent_logic.h"
#include "base/result.h"

namespace sl::agent {

// Creates the directory if it is missing and keeps other agents out of it for as long as the descriptor is open.
// Errors: "data-directory-not-writable", "data-directory-in-use".
Result<int> lock_data_directory(const std::string& path);

// Random, made once: distinguishes two servers with the same name.
std::string agent_id(const std::string& data_dir);

// A number greater than any it has returned before for this directory. It lies in the file `calls`; the wall clock
// takes it beyond those of a directory that was put back from an old copy.
std::int64_t next_call(const std::string& data_dir, std::int64_t wall_us);

// Reads the file `cluster`. Missing or unreadable values are unknown.
KnownCluster read_known_cluster(const std::string& data_dir);
void write_known_cluster(const std::string& data_dir, const KnownCluster& cluster);

}  // namespace sl::agent
