// files: what a job has left on its server, listed and fetched.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/add_command.h"
#include "cli/context.h"

namespace sl::cli {

struct FilesOptions {
  std::string job;                 // selector
  std::string action = "ls";       // or "get"
  std::vector<std::string> paths;  // "output/model.pt"; none: ls shows the top, get fetches the results ("output")
  std::string into;                // folder for what is fetched; empty: job-ID
  int attempt = 0;                 // 0: the last
  int rank = 0;                    // of the server, among those of the attempt
  bool force = false;              // overwrite
};

class FilesCommand : CommandGroup {
 public:
  using CommandGroup::CommandGroup;
  void add_to(CLI::App& app);

 private:
  FilesOptions options_;
};

}  // namespace sl::cli
