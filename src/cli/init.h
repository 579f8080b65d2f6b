// init: a first job file.
#pragma once

#include <functional>
#include <string>

#include "cli/add_command.h"
#include "cli/context.h"

namespace sl::cli {

class Init {
 public:
  Init(AddCommand command, std::function<Context()> context)
      : command_(std::move(command)), context_(std::move(context)) {}
  void add_to(CLI::App& app);

 private:
  AddCommand command_;
  std::function<Context()> context_;
  std::string file_ = "job.toml";
};

// The text of a job file for a program; what it does not need is there as comments.
std::string first_job_file(const std::string& name, const std::string& program);

}  // namespace sl::cli
