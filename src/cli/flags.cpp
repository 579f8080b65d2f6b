#include "cli/flags.h"

#include "cli/usage.h"
#include "wire/job_spec.h"

namespace sl::cli {

void add_retention(CLI::App& command, wire::RetentionRule& rule, const std::string& what,
                   const std::string& too_large) {
  const auto set_age = [&rule](const std::string& text) {
    const auto seconds = wire::parse_duration_s(text);
    if (!seconds.ok()) throw CLI::ValidationError("--keep", seconds.error().message);
    rule.age_s = *seconds;
  };
  const auto set_bytes = [&rule](const std::string& text) {
    const auto bytes = text == "0" ? Result<std::int64_t>(0) : wire::parse_bytes(text);
    if (!bytes.ok()) throw CLI::ValidationError("--keep-size", bytes.error().message);
    rule.bytes = *bytes;
  };
  command.add_option_function<std::string>("--keep", set_age,
                                           "how long to keep " + what + " of finished jobs (90d; 0: for ever)");
  command.add_option("--keep-jobs", rule.jobs, "of how many finished jobs to keep " + what + " (0: all)")
      ->check(between(0, 1'000'000'000));
  command.add_option_function<std::string>("--keep-size", set_bytes,
                                           "remove the oldest while " + too_large + ": 50GiB (0: never)");
}

void add_starting_flags(CLI::App& command, std::map<std::string, std::string>& keys, std::vector<std::string>& matrix) {
  const auto key = [&](const char* flag, const char* name, const char* help) {
    command.add_option(flag, keys[name], help);
  };
  key("--after", "after", "start when these jobs have succeeded: 5,7 or names");
  key("--after-any", "after_any", "start when these jobs have ended, however");
  key("--not-before", "not_before", "start at this time or later: 21:00, 2h, 2026-11-23T21:00:00Z");
  key("--array", "array", "one job for each of these numbers, {index} in its command: 0-99");
  command.add_option("--matrix", matrix, "one job for each combination of values, {lr} in its command: lr=0.1,0.01");
  key("--max-running", "max_running", "so many members of the array or matrix at once");
}

}  // namespace sl::cli
