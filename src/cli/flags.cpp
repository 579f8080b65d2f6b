#include "cli/flags.h"

namespace sl::cli {

void add_starting_flags(CLI::App& command, std::map<std::string, std::string>& keys, std::vector<std::string>& matrix) {
  const auto key = [&](const char* flag, const char* name, const char* help) {
    command.add_option(flag, keys[name], help);
  };
  key("--after", "after", "start when these jobs have succeeded: 5,7 or names");
  key("--after-any", "after_any", "start when these jobs have ended, however");
  key("--not-before", "not_before", "start at this time or later: 21:00, 2h, 2026-11-23T21:00:00Z");
  key("--on", "resources.on", "only on these servers, by name or label: gpu4,rack=a");
  key("--not-on", "resources.not_on", "on none of these servers: gpu5,rack=b");
  key("--array", "array", "one job for each of these numbers, {index} in its command: 0-99");
  command.add_option("--matrix", matrix, "one job for each combination of values, {lr} in its command: lr=0.1,0.01");
  key("--max-running", "max_running", "so many members of the array or matrix at once");
}

}  // namespace sl::cli
