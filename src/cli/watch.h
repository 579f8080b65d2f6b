// --watch: a command that only reads, again and again.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "cli/context.h"

namespace sl::cli {

// Runs the action every 2 seconds until Ctrl-C or a closed output; on a terminal each time on an empty screen. Refused
// ("bad-flag") for commands that change something or follow by themselves.
int watch(const CLI::App& root, const Context& context, const std::function<int()>& action);

}  // namespace sl::cli
