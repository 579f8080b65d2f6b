#include "cli/daemon_options.h"

#include <fmt/format.h>

#include "cli/usage.h"
#include "wire/job_spec.h"

namespace sl::cli {
namespace {

// How long something is kept. Without a unit it would be seconds, which nobody means who writes 90, and what is removed
// is gone.
double age_s(const std::string& text) {
  const auto seconds = wire::parse_duration_s(text);
  if (!seconds.ok()) throw CLI::ValidationError("--keep", seconds.error().message);
  const bool has_unit = text.find_first_not_of("0123456789.") != std::string::npos;
  if (*seconds > 0 && !has_unit)
    throw CLI::ValidationError("--keep", fmt::format("needs a unit: {0}d for days, {0}h for hours", text));
  return *seconds;
}

}  // namespace

void add_retention(CLI::App& command, wire::RetentionRule& rule, const std::string& what,
                   const std::string& too_large) {
  const auto set_age = [&rule](const std::string& text) { rule.age_s = age_s(text); };
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

void add_free_limit(CLI::App& command, wire::RetentionRule& rule) {
  const auto set = [&rule](const std::string& text) {
    const auto bytes = text == "0" ? Result<std::int64_t>(0) : wire::parse_bytes(text);
    if (!bytes.ok()) throw CLI::ValidationError("--keep-free", bytes.error().message);
    rule.free_bytes = *bytes;
  };
  command.add_option_function<std::string>(
      "--keep-free", set, "remove the oldest files while less than this is free on the disk: 50GiB (0: never)");
}

void add_snapshot_limit(CLI::App& command, std::int64_t& bytes_max) {
  const auto set = [&bytes_max](const std::string& text) {
    const auto bytes = wire::parse_bytes(text);
    if (!bytes.ok()) throw CLI::ValidationError("--snapshot-limit", bytes.error().message);
    bytes_max = *bytes;
  };
  command.add_option_function<std::string>("--snapshot-limit", set,
                                           "how large the code may be that a job is submitted with (100MiB)");
}

void add_notify_allow(CLI::App& command, std::vector<std::string>& hosts) {
  command
      .add_option("--notify-allow", hosts,
                  "host that notifications may be sent to although it is this machine, or on its own link: 127.0.0.1, "
                  "relay.lab:25; may be given several times")
      ->type_name("HOST");
}

void add_shells(CLI::App& command, double& keep_s) {
  const auto set = [&keep_s](const std::string& text) {
    const auto seconds = wire::parse_duration_s(text);
    if (!seconds.ok()) throw CLI::ValidationError("--shell-keep", seconds.error().message);
    keep_s = *seconds;
  };
  command.add_option_function<std::string>("--shell-keep", set,
                                           "how long a shell that nobody is connected to waits for them (1h)");
}

void add_labels(CLI::App& command, std::vector<std::string>& labels) {
  command.add_option("--label", labels, "KEY=VALUE, for jobs that choose their servers: --label rack=a")
      ->allow_extra_args(false);
}

void add_containers(CLI::App& command, ContainerOptions& options) {
  command
      .add_option("--container-socket", options.socket,
                  "Unix socket of the container engine (Docker or Podman); none: no containers (default: the first of "
                  "the usual places where one answers)")
      ->type_name("SOCKET");
  command
      .add_option("--allow-mount", options.mounts,
                  "folder of which jobs may mount parts into their containers; may be given several times")
      ->type_name("DIR");
  command.add_flag("--allow-container-root", options.allow_root, "jobs of root may run as root in their containers");
}

}  // namespace sl::cli
