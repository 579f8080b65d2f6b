// config: what is set once instead of being given as a flag.
#pragma once

#include <string>
#include <vector>

#include "cli/add_command.h"
#include "cli/context.h"
#include "cli/settings_file.h"

namespace sl::cli {

inline constexpr const char* default_url = "http://127.0.0.1:5000";

// What the flags of every command are when they are not given.
struct FlagValues {
  std::string url, token_file, color;
  std::string context;  // --context; later the one in use (sign_ins.h)
  std::string token;    // of the context, or given for this url
  bool is_context_flag = false;
  double timeout_s = 30;
  bool is_url_chosen = false;  // by a flag, a variable or a file
  json::object defaults;       // of jobs
  std::vector<UnusedSettings> unused_settings;
};
// Fills in what files set and neither flags nor variables say. Not for the commands that must work whatever these files
// hold. Errors: those of Config::load(), "bad-flag".
Status fill_from_config(const CLI::App& app, FlagValues& flags);

// On stderr, once for each.
void warn_of(const std::vector<UnusedSettings>& unused);

std::string user_setting(const std::string& key);                           // of the user's own file; empty: none
Status set_user_setting(const std::string& key, const std::string& value);  // empty: none any more

class ConfigCommands : CommandGroup {
 public:
  using CommandGroup::CommandGroup;
  void add_to(CLI::App& app);

 private:
  std::string key_, value_;
};

}  // namespace sl::cli
