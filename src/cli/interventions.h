// suspend, resume, migrate, scale, retry: what users do to jobs that they have submitted.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cli/add_command.h"
#include "cli/context.h"

namespace sl::cli {

class Interventions : CommandGroup {
 public:
  using CommandGroup::CommandGroup;
  void add_to(CLI::App& app);

 private:
  CLI::App* add(CLI::App& app, const std::string& verb, const std::string& summary, const std::string& examples);
  // Asks for each of the jobs; `say` prints the answer.
  int ask(const std::string& verb, const std::function<void(const Context&, std::int64_t, const json::value&)>& say);

  // "&after=7", or nothing.
  Result<std::string> after_parameter(const Context& context) const;

  std::vector<std::string> selectors_, after_;
  std::map<std::string, std::string> body_;
  bool dry_run_ = false, failed_ = false;
};

}  // namespace sl::cli
