#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

namespace sl::cli {

// Adds a command whose help begins with its examples to a group.
using AddCommand = std::function<CLI::App*(CLI::App& group, const std::string& name, const std::string& summary,
                                           const std::string& examples, std::function<int()> action)>;

}  // namespace sl::cli
