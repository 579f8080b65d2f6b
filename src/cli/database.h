// db backup, check and restore: the database of a data folder. They work on the files of this machine; app gives the
// role that does it.
#pragma once

#include <functional>
#include <string>

#include "cli/add_command.h"
#include "cli/cli.h"
#include "cli/context.h"

namespace sl::cli {

class DatabaseCommands : CommandGroup {
 public:
  DatabaseCommands(CommandFrame frame, const Roles& roles) : CommandGroup(std::move(frame)), roles_(roles) {}
  void add_to(CLI::App& app);

 private:
  int run(const char* verb);

  const Roles& roles_;
  DatabaseOptions options_;
  std::string confirmed_;
};

}  // namespace sl::cli
