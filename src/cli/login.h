// login, logout, whoami: as whom one asks which controller.
#pragma once

#include <string>

#include "cli/add_command.h"
#include "cli/context.h"

namespace sl::cli {

class LoginCommands : CommandGroup {
 public:
  using CommandGroup::CommandGroup;
  void add_to(CLI::App& app);

 private:
  int sign_in() const;
  int sign_out() const;

  std::string url_, name_;
};

}  // namespace sl::cli
