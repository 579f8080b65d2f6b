// schedulearn: one binary, three roles. Only this folder builds everything from configuration.
#include <csignal>
#include <cstdio>

#include "agent/agent.h"
#include "app/data_folder.h"
#include "app/roles.h"
#include "app/start_pages.h"
#include "cli/cli.h"
#include "controller/controller.h"
#include "controller/recording.h"
#include "python_policy/loader.h"
#include "wire/job_spec.h"

namespace {

using namespace sl;
using namespace sl::app;

// `text` says that it runs: signals are heard from then on.
void run_until_signal(net::EventLoop& loop, const std::string& text) {
  loop.on_signals({SIGINT, SIGTERM}, [&](int) { loop.stop(); });
  std::printf("%s\n", text.c_str());
  std::fflush(stdout);
  const auto timer = release_start_pages(loop);
  loop.run();
}

int controller_role(const cli::ControllerOptions& options) {
  raise_file_limit();
  net::EventLoop loop;
  auto controller = start_controller(loop, options);
  if (!controller.ok()) return fail(controller.error());
  run_until_signal(loop, "controller listens on port " + std::to_string((*controller)->port()));
  return 0;
}

Result<std::map<std::string, std::string>> read_labels(const std::vector<std::string>& texts) {
  std::map<std::string, std::string> labels;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || !wire::names_servers(text))
      return invalid("bad-label", "a label is KEY=VALUE: " + text).hint("--label rack=a");
    labels[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return labels;
}

int agent_role(const cli::AgentOptions& options) {
  agent::AgentSettings settings = agent_settings();
  if (!options.token_file.empty()) {
    if (const auto token = read_token(options.token_file, Daemon::agent); !token.ok()) return fail(token.error());
  }
  if (Status ready = prepare_data_folder(options.data, Daemon::agent); !ready.ok()) return fail(ready.error());
  net::EventLoop loop;
  settings.controller_url = options.join;
  settings.data_dir = options.data;
  settings.server = options.name;
  settings.simulate = options.simulate;
  settings.gpu_type = options.gpu_type;
  const auto labels = read_labels(options.labels);
  if (!labels.ok()) return fail(labels.error());
  settings.labels = *labels;
  settings.token = token_in(options.token_file);
  settings.keep = options.keep;
  settings.shell_keep_s = options.shell_keep_s;
  settings.containers = container_settings(options.containers);
  auto agent = agent::Agent::start(loop, settings);
  if (!agent.ok()) return fail(agent.error());
  run_until_signal(loop, "agent joins " + options.join);
  return 0;
}

// A decision that was in time when recorded must not fail because this machine is busy; one that never ended then fails
// again.
python_policy::HostSettings replay_settings() {
  python_policy::HostSettings settings = python_policy::live_settings();
  settings.patience = 20;
  return settings;
}

// Exit status 1 if any decision differs.
int replay_role(const std::string& file, bool as_json) {
  const auto replay = controller::replay(file, python_policy::make_maker(replay_settings()));
  if (!replay.ok()) return fail(replay.error());
  std::fputs((as_json ? controller::replay_json(*replay) : controller::replay_text(*replay)).c_str(), stdout);
  return replay->differences == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  return cli::run_cli(argc, argv, {up_role, controller_role, agent_role, replay_role, open_past, database_role});
}
