// set: changes jobs that have not ended.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cli/add_command.h"
#include "cli/context.h"

namespace sl::cli {

class SetCommand : CommandGroup {
 public:
  using CommandGroup::CommandGroup;
  void add_to(CLI::App& app);

 private:
  // What to ask for, and how to say that it was done: "job 5 has priority 10, ... and is held from now on".
  struct Request {
    json::object body;
    std::vector<std::string> has, is, says;
  };
  Result<Request> request() const;
  int set() const;

  std::vector<std::string> selectors_, labels_, notify_;
  std::map<std::string, std::string> values_;  // keys of a job file and what was typed for them
  std::map<std::string, bool> flags_;
  bool dry_run_ = false;
};

}  // namespace sl::cli
