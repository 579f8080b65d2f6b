// secret: what jobs are given without anybody else seeing it.
#pragma once

#include <functional>
#include <string>

#include "cli/add_command.h"
#include "cli/context.h"

namespace sl::cli {

// A file as it is; without a file what is typed, unseen, after the question `what`, or all of standard input but the line
// break at its end, which `echo` and editors add. Error "no-such-file".
Result<std::string> secret_from(const std::string& what, const std::string& file);

class SecretCommands : CommandGroup {
 public:
  using CommandGroup::CommandGroup;
  void add_to(CLI::App& app);

 private:
  std::string name_, file_;
};

}  // namespace sl::cli
