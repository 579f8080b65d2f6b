// secret: what jobs are given without anybody else seeing it.
#pragma once

#include <functional>
#include <string>

#include "cli/add_command.h"
#include "cli/context.h"

namespace sl::cli {

class SecretCommands {
 public:
  SecretCommands(AddCommand command, std::function<Context()> context)
      : command_(std::move(command)), context_(std::move(context)) {}
  void add_to(CLI::App& app);

 private:
  AddCommand command_;
  std::function<Context()> context_;
  std::string name_, file_;
};

}  // namespace sl::cli
