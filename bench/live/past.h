// A past that would take hours to produce: finished jobs written straight into a controller's database.
#pragma once

#include <cstdint>
#include <string>

namespace sl::bench {

// Adds `jobs` finished jobs, each with its events. No controller may use the folder at the same time. Throws
// std::runtime_error.
void write_past(const std::string& controller_folder, std::int64_t jobs);

// Adds `keys` idempotency keys of the last hours, all of job 1, which must exist. As above otherwise.
void write_keys(const std::string& controller_folder, std::int64_t keys);

}  // namespace sl::bench
