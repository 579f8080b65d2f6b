// notify: where one is told of one's jobs, and what was sent there.
#pragma once

#include <string>
#include <vector>

#include "cli/add_command.h"
#include "cli/context.h"

namespace sl::cli {

class NotifyCommands : CommandGroup {
 public:
  using CommandGroup::CommandGroup;
  void add_to(CLI::App& app);

 private:
  struct NewChannel {
    std::string webhook, mail, server, secret, login, from, room;
    bool slack = false, shared = false;
    std::vector<std::string> on;
  };
  int add() const;
  void add_options(CLI::App& command);

  std::string name_;
  int limit_ = 30;
  NewChannel new_;
};

}  // namespace sl::cli
