// Manual pages, from what --help is made of.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <string>

namespace sl::cli {

class Help;

// The page of a command as roff. `version`: of the program.
std::string man_page(const CLI::App& root, const CLI::App& command, const Help& help, const std::string& version);

// The pages of all commands: file name ("schedulearn-policy-set.1") and text.
std::map<std::string, std::string> man_pages(const CLI::App& root, const Help& help, const std::string& version);

}  // namespace sl::cli
