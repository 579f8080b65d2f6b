// db backup, check and restore: the database of a data folder. They work on the files of this machine; app gives the
// role that does it.
#pragma once

#include <functional>
#include <string>

#include "cli/add_command.h"
#include "cli/cli.h"
#include "cli/context.h"

namespace sl::cli {

class DatabaseCommands {
 public:
  DatabaseCommands(AddCommand command, std::function<Context()> context, const Roles& roles,
                   std::function<std::string()> own_data)
      : command_(std::move(command)), context_(std::move(context)), roles_(roles), own_data_(std::move(own_data)) {}
  void add_to(CLI::App& app);

 private:
  int run(const char* verb);
  Status confirm_restore(const Context& context) const;

  AddCommand command_;
  std::function<Context()> context_;
  const Roles& roles_;
  std::function<std::string()> own_data_;
  DatabaseOptions options_;
  std::string confirmed_;
};

}  // namespace sl::cli
