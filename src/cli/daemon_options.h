// Options that several daemons have.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "cli/cli.h"
#include "wire/retention.h"

namespace sl::cli {

// `what`: what is kept of finished jobs; `too_large`: when the limit of size is exceeded.
void add_retention(CLI::App& command, wire::RetentionRule& rule, const std::string& what, const std::string& too_large);
// Of daemons that keep files.
void add_free_limit(CLI::App& command, wire::RetentionRule& rule);
void add_snapshot_limit(CLI::App& command, std::int64_t& bytes_max);
void add_notify_allow(CLI::App& command, std::vector<std::string>& hosts);
void add_shells(CLI::App& command, double& keep_s);
void add_labels(CLI::App& command, std::vector<std::string>& labels);
void add_containers(CLI::App& command, ContainerOptions& options);

}  // namespace sl::cli
