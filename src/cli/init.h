// init: a first job file.
#pragma once

#include <functional>
#include <string>

#include "cli/add_command.h"
#include "cli/context.h"

namespace sl::cli {

class Init : CommandGroup {
 public:
  using CommandGroup::CommandGroup;
  void add_to(CLI::App& app);

 private:
  std::string file_ = "job.toml";
};

// The text of a job file for a program; what it does not need is there as comments.
std::string first_job_file(const std::string& name, const std::string& program);

}  // namespace sl::cli
