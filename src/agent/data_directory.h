// The agent's own files in its data directory.
#pragma once

#include <cstdint>
#include <string>

#include "agent/agent_logic.h"
#include "base/result.h"

namespace sl::agent {

// Creates the directory and the agent's id if they are missing, and keeps other agents out of it for as long as the
// descriptor is open.
// Errors: "data-directory-not-writable", "data-directory-in-use".
Result<int> lock_data_directory(const std::string& path);

// Random, made once: distinguishes two servers with the same name. Empty (errno): it could not be written down, so it
// would be another one the next time.
std::string agent_id(const std::string& data_dir);

// A number greater than any it has returned before for this directory. It lies in the file `calls`; the wall clock
// takes it beyond those of a directory that was put back from an old copy, or of one whose disk is full.
std::int64_t next_call(const std::string& data_dir, std::int64_t wall_us);

// Random and above 0, the same for the life of this process.
std::int64_t process_number();

// Reads the file `cluster`. Missing or unreadable values are unknown.
KnownCluster read_known_cluster(const std::string& data_dir);
// What cannot be written stays as it was, and a line on standard error says so.
void write_known_cluster(const std::string& data_dir, const KnownCluster& cluster);

}  // namespace sl::agent
