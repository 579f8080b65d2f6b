// cancel, signal, rm: how jobs are brought to an end, told something on the way, and removed.
#pragma once

#include <string>
#include <vector>

#include "cli/add_command.h"
#include "wire/intervention.h"

namespace sl::cli {

class EndCommands : CommandGroup {
 public:
  using CommandGroup::CommandGroup;
  void add_to(CLI::App& app);

 private:
  std::vector<std::string> selectors_;
  wire::Cancellation wanted_;
  std::string job_, signal_;
};

}  // namespace sl::cli
