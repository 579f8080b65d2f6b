// demo: a small cluster of its own with jobs on it, to look around. Nothing of it is left afterwards.
#pragma once

#include <string>

#include "cli/add_command.h"
#include "cli/context.h"

namespace sl::cli {

class DemoCommand : CommandGroup {
 public:
  using CommandGroup::CommandGroup;
  void add_to(CLI::App& app);

 private:
  int run() const;

  std::string simulate_ = "2x4";
};

}  // namespace sl::cli
