// profile: what is known about kinds of trainings, measured on this cluster or imported.
#pragma once

#include <string>
#include <vector>

#include "cli/add_command.h"
#include "cli/commands.h"

namespace sl::cli {

struct ProfileOptions {
  SubmitOptions job;
  std::string gpus = "1";   // "1,2,4": one short run on each
  double seconds = 5;       // length of a measurement, from the first report on
  double patience_s = 120;  // waiting time for two reports once it runs
  std::string out;          // also written to this file; empty: none
};
// Measures a training by short runs and stores the profile of its family.
int profile_run(const Context& context, const ProfileOptions& options);
int profile_import(const Context& context, const std::string& path);
int profile_ls(const Context& context);
int profile_show(const Context& context, const std::string& family);
// What interruptions have cost; also written to the file `out` for `sim --costs`, unless that is empty.
int profile_costs(const Context& context, const std::string& out);
int profile_rm(const Context& context, const std::string& family);

class ProfileCommands : CommandGroup {
 public:
  using CommandGroup::CommandGroup;
  void add_to(CLI::App& app);

 private:
  ProfileOptions options_;
  std::string name_;
};

}  // namespace sl::cli
