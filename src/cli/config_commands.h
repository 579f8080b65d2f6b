// config: what is set once instead of being given as a flag.
#pragma once

#include <string>

#include "cli/add_command.h"
#include "cli/context.h"

namespace sl::cli {

// What the flags of every command are when they are not given.
struct FlagValues {
  std::string url, token_file, color;
  double timeout_s = 30;
  bool is_url_chosen = false;  // by a flag, a variable or a file
  json::object defaults;       // of jobs
};
// Fills in what files set and neither flags nor variables say. Not for the commands that must work whatever these files
// hold. Errors: those of Config::load(), "bad-flag".
Status fill_from_config(const CLI::App& app, FlagValues& flags);

class ConfigCommands : CommandGroup {
 public:
  using CommandGroup::CommandGroup;
  void add_to(CLI::App& app);

 private:
  std::string key_, value_;
};

}  // namespace sl::cli
