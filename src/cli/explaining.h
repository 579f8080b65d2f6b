// The commands that explain the program itself: help, help error, man, completion, version.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/add_command.h"
#include "cli/context.h"
#include "cli/usage.h"

namespace sl::cli {

class Explaining : CommandGroup {
 public:
  // `usage`: what `schedulearn help` prints.
  Explaining(CommandFrame frame, CLI::App& root, std::shared_ptr<Help> help, const char* usage, const char* version)
      : CommandGroup(std::move(frame)), root_(root), help_(std::move(help)), usage_(usage), version_(version) {}
  void add();

 private:
  int explain() const;
  int explain_error() const;
  int print_pages() const;
  // The command that the words name. Error "unknown-command".
  Result<const CLI::App*> named() const;

  CLI::App& root_;
  std::shared_ptr<Help> help_;
  const char* usage_;
  const char* version_;
  std::vector<std::string> words_;
  std::string out_;
};

}  // namespace sl::cli
