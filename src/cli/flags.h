// Flags that several commands share, or that belong together.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <string>

#include "wire/retention.h"

namespace sl::cli {

// Of a daemon: what is kept of finished jobs. `what`: "the history"; `too_large`: when the limit of size is exceeded.
void add_retention(CLI::App& command, wire::RetentionRule& rule, const std::string& what, const std::string& too_large);

// Of `submit`: after what a job starts, and how many there are of it. The values go to `keys`, by key of the job file.
void add_starting_flags(CLI::App& command, std::map<std::string, std::string>& keys, std::vector<std::string>& matrix);

}  // namespace sl::cli
