// top: the cluster on a full screen, once a second.
#pragma once

#include "cli/add_command.h"
#include "cli/context.h"

namespace sl::cli {

struct TopOptions {
  bool is_readonly = false, is_ascii = false, is_light = false;
};
// Until the user leaves. Errors: "no-terminal".
int top(const Context& context, const TopOptions& options);

class TopCommand : CommandGroup {
 public:
  using CommandGroup::CommandGroup;
  void add_to(CLI::App& app);

 private:
  TopOptions options_;
};

}  // namespace sl::cli
