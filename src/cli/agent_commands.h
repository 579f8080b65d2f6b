// agent: a server joins a cluster, its daemon runs, and it leaves again.
//
//   DATA/joined.json        which controller, by which name
//   DATA/controller-token   what was typed when it joined, for its user only
#pragma once

#include <optional>
#include <string>

#include "cli/add_command.h"
#include "cli/cli.h"

namespace sl::cli {

class AgentCommands : CommandGroup {
 public:
  AgentCommands(CommandFrame frame, const Roles& roles) : CommandGroup(std::move(frame)), roles_(roles) {}
  void add_to(CLI::App& app);

 private:
  void add_run(CLI::App& agent);
  int join_cluster();
  int run();
  int leave_cluster();
  // A context that asks the controller that is to be joined, once it has let us in as an admin, or as the agent of a
  // server. `secret`: what was typed for that, to be kept; empty: nothing. `name`: of the server; if it is empty, that
  // of its token or of the host is filled in. Errors: "admins-only", "not-your-server".
  Result<Context> admitted(const std::string& url, std::string& secret, std::string& name) const;

  const Roles& roles_;
  AgentOptions options_;
  std::string url_;
};

}  // namespace sl::cli
