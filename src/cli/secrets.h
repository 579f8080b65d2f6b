// secret: what jobs are given without anybody else seeing it.
#pragma once

#include <functional>
#include <string>

#include "cli/add_command.h"
#include "cli/context.h"

namespace sl::cli {

class SecretCommands : CommandGroup {
 public:
  using CommandGroup::CommandGroup;
  void add_to(CLI::App& app);

 private:
  std::string name_, file_;
};

}  // namespace sl::cli
