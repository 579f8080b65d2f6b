// web: the way from the command line to the web page.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/add_command.h"
#include "cli/context.h"

namespace sl::cli {

class PageCommands : CommandGroup {
 public:
  using CommandGroup::CommandGroup;
  void add_to(CLI::App& app);

 private:
  int print(const Context& context) const;

  std::vector<std::string> selectors_;
  bool no_open_ = false, signs_in_ = false;
};

}  // namespace sl::cli
