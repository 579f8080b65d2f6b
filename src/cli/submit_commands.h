// submit and run: their flags, which stand for keys of the job file.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/add_command.h"
#include "cli/commands.h"

namespace sl::cli {

class SubmitCommands : CommandGroup {
 public:
  // `command`: the words after --.
  SubmitCommands(CommandFrame frame, const std::vector<std::string>& command)
      : CommandGroup(std::move(frame)), words_(command) {}
  void add_to(CLI::App& app);

 private:
  void add(CLI::App& app, const std::string& name, bool run);

  const std::vector<std::string>& words_;
  SubmitOptions submit_;
  std::string empty_key_;  // of flags_, the one that is given with an empty value, which means something
  std::map<std::string, std::string> flags_;
};

}  // namespace sl::cli
