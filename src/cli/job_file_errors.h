// What is wrong with a job file: everything at once, each error with its line.
#pragma once

#include <string>

#include "cli/context.h"

namespace sl::cli {

struct JobFile {
  std::string path;      // empty: there is none, all comes from the command line
  std::string text;      // TOML; empty: it is JSON, whose lines are not told
  json::object object;   // what it says
  std::string base_dir;  // of relative paths
};

// `first`: why `whole`, the file with what flags and defaults add, is no job. Its notes say where in the file that stands,
// and what else is wrong.
Error everything_wrong(const Error& first, json::object whole, const JobFile& file);

}  // namespace sl::cli
