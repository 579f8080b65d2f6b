// servers: those of the cluster, how another one joins, and what admins do to them.
#pragma once

#include <string>

#include "cli/add_command.h"
#include "cli/commands.h"

namespace sl::cli {

class ServerCommands : CommandGroup {
 public:
  using CommandGroup::CommandGroup;
  void add_to(CLI::App& app);

 private:
  int remove() const;

  std::string name_, confirmed_, join_, expires_;
  DrainOptions drain_;
};

}  // namespace sl::cli
