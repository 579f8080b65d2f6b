// doctor: what is right and wrong with this installation, each with what to do.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/add_command.h"
#include "cli/context.h"

namespace sl::cli {

class Doctor : CommandGroup {
 public:
  Doctor(CommandFrame frame, std::string version) : CommandGroup(std::move(frame)), version_(std::move(version)) {}
  void add_to(CLI::App& app);

 private:
  struct Finding {
    std::string verdict;  // ok | note | wrong
    std::string subject, text, remedy;
  };
  int examine();
  void look_at_controller(const Context& context);
  void look_at_this_machine(const Context& context);
  void add(const char* verdict, std::string subject, std::string text, std::string remedy = "");

  std::string version_;
  std::vector<Finding> findings_;
};

}  // namespace sl::cli
