// Flags of `submit` that belong together.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <vector>

namespace sl::cli {

// After what a job starts and where, and how many there are of it. The values go to `keys`, by key of the job file.
void add_starting_flags(CLI::App& command, std::map<std::string, std::string>& keys, std::vector<std::string>& matrix);

}  // namespace sl::cli
