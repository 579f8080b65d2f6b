// shell: a terminal among the processes of a running job.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/add_command.h"
#include "cli/context.h"

namespace sl::cli {

struct ShellOptions {
  std::string job;                   // selector
  std::vector<std::string> command;  // what followed --, instead of the user's shell
  bool is_new = false;               // although another of the user's waits
  int attach = 0;                    // number of the shell to come back to; 0: any that waits
  int rank = 0;                      // of the server, among those of the job
};

// Connects to a job that runs at a terminal (`pty`), until the job has ended or the user leaves it.
struct TerminalEnd {
  bool was_connected = false;
  std::optional<int> status;  // to end with; empty: the job has ended, and its exit code counts
};
TerminalEnd connect_to_job(const Context& context, std::int64_t job);

class ShellCommand : CommandGroup {
 public:
  ShellCommand(CommandFrame frame, const std::vector<std::string>& after_dashes)
      : CommandGroup(std::move(frame)), after_dashes_(after_dashes) {}
  void add_to(CLI::App& app);

 private:
  const std::vector<std::string>& after_dashes_;
  ShellOptions options_;
};

}  // namespace sl::cli
