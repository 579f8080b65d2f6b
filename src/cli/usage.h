// How commands explain themselves: the text of their help, and the messages for command lines that are not understood.
// No sentence of the argument library reaches a user.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace sl::cli {

// Examples first, since most people look for those; options that every command takes last.
class Help : public CLI::Formatter {
 public:
  explicit Help(const CLI::App& root) : root_(root) {
    label("Positionals", "Arguments");
    label("SUBCOMMAND", "COMMAND");
  }

  std::map<const CLI::App*, std::string> examples;

  std::string make_help(const CLI::App* command, std::string name, CLI::AppFormatMode mode) const override;
  std::string make_usage(const CLI::App* command, std::string name) const override;

 private:
  const CLI::App& root_;
};

std::vector<CLI::App*> commands_of(const CLI::App& command);
std::string typed_command(const CLI::App& root);                           // "servers ls", once it has been parsed
CLI::App* find_command(const CLI::App& command, const std::string& name);  // null if there is none

// There is no command `word` of `within`; with what was probably meant.
Error unknown_command(const CLI::App& root, const CLI::App& within, const std::string& word);

// The first word that should be a command or a flag but is not, with what was probably meant. `words` as typed, without
// the program's name and without what follows "--".
std::optional<Error> unknown_word(const CLI::App& root, const std::vector<std::string>& words);

// The error of a command line that could not be parsed, with a hint.
Error usage_error(const CLI::App& root, const CLI::ParseError& error, const std::vector<std::string>& words);

// ---- Checks of values, with messages for users ----

CLI::Validator between(double min, double max);
CLI::Validator above_zero();
CLI::Validator not_negative();
CLI::Validator not_empty();        // else --out "$UNSET" would be as good as no --out
CLI::Validator seed_of_64_bits();  // CLI11 takes -1 and more digits for 2^64 - 1
CLI::Validator one_of(std::vector<std::string> words);
// The words that the option takes, "auto|always|never"; empty: it takes others too.
std::string words_of(const CLI::Option& option);

}  // namespace sl::cli
