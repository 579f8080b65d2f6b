#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <utility>

#include "cli/context.h"

namespace sl::cli {

// Adds a command whose help begins with its examples to a group.
using AddCommand = std::function<CLI::App*(CLI::App& group, const std::string& name, const std::string& summary,
                                           const std::string& examples, std::function<int()> action)>;

// What commands need of the command line they belong to.
struct CommandFrame {
  AddCommand command;
  std::function<Context()> context;  // once it has been parsed
};

// Commands that belong together and share options.
class CommandGroup {
 public:
  explicit CommandGroup(CommandFrame frame) : command_(std::move(frame.command)), context_(std::move(frame.context)) {}

 protected:
  AddCommand command_;
  std::function<Context()> context_;
};

}  // namespace sl::cli
