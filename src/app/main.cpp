// schedulearn: one binary, three roles. This is the only place that builds everything from configuration.
#include <sys/resource.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "agent/agent.h"
#include "cli/cli.h"
#include "controller/controller.h"
#include "controller/recording.h"
#include "python_policy/loader.h"
#include "wire/error.h"

namespace {

using namespace sl;

constexpr const char* version = SCHEDULEARN_VERSION;

int fail(const Error& error) {
  std::fputs(wire::error_text(error).c_str(), stderr);
  return wire::exit_status(error);
}

std::string default_data_dir() {
  if (const char* xdg = std::getenv("XDG_DATA_HOME"); xdg && *xdg) return std::string(xdg) + "/schedulearn";
  const char* home = std::getenv("HOME");
  return std::string(home && *home ? home : "/tmp") + "/.local/share/schedulearn";
}

// "127.0.0.1:5000", ":5000", "5000".
Result<std::pair<std::string, std::uint16_t>> parse_listen(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  std::string address = colon == std::string::npos ? "" : text.substr(0, colon);
  if (address.size() > 2 && address.front() == '[') address = address.substr(1, address.size() - 2);
  const std::string port = colon == std::string::npos ? text : text.substr(colon + 1);
  std::uint16_t number = 0;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (error != std::errc() || end != port.data() + port.size())
    return invalid("bad-listen", "not an address and port: " + text).hint("--listen 127.0.0.1:5000");
  return std::pair(address.empty() ? "127.0.0.1" : address, number);
}

Result<std::string> read_token(const std::string& path) {
  if (path.empty()) return std::string();
  std::ifstream file(path);
  std::string token;
  std::getline(file, token);
  if (token.size() < 16)
    return invalid("bad-token-file", "the token file " + path + " has no first line of at least 16 characters")
        .hint("head -c 24 /dev/urandom | base64 > " + path);
  return token;
}

Result<std::unique_ptr<controller::Controller>> start_controller(net::EventLoop& loop,
                                                                 const cli::ControllerOptions& options) {
  const auto listen = parse_listen(options.listen);
  if (!listen.ok()) return listen.error();
  const auto token = read_token(options.token_file);
  if (!token.ok()) return token.error();
  return controller::Controller::start(loop, {.data_dir = options.data,
                                              .listen_address = listen->first,
                                              .listen_port = listen->second,
                                              .token = *token,
                                              .version = version,
                                              .make_policy = python_policy::make_maker(python_policy::live_settings()),
                                              .record = options.record});
}

void raise_file_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

void run_until_signal(net::EventLoop& loop) {
  loop.on_signals({SIGINT, SIGTERM}, [&](int) { loop.stop(); });
  loop.run();
}

int controller_role(const cli::ControllerOptions& options) {
  raise_file_limit();
  net::EventLoop loop;
  auto controller = start_controller(loop, options);
  if (!controller.ok()) return fail(controller.error());
  std::printf("controller listens on port %d\n", (*controller)->port());
  std::fflush(stdout);
  run_until_signal(loop);
  return 0;
}

int agent_role(const cli::AgentOptions& options) {
  raise_file_limit();
  const auto token = read_token(options.token_file);
  if (!token.ok()) return fail(token.error());
  net::EventLoop loop;
  agent::AgentSettings settings;
  settings.controller_url = options.join;
  settings.data_dir = options.data;
  settings.server = options.name;
  settings.simulate = options.simulate;
  settings.token = *token;
  settings.version = version;
  auto agent = agent::Agent::start(loop, settings);
  if (!agent.ok()) return fail(agent.error());
  std::printf("agent joins %s\n", options.join.c_str());
  std::fflush(stdout);
  run_until_signal(loop);
  return 0;
}

// "4" or "1x4"; more than one server would need more than one agent.
Result<int> parse_simulate(const std::string& text) {
  const std::string count = text.starts_with("1x") ? text.substr(2) : text;
  int number = 0;
  const auto [end, error] = std::from_chars(count.data(), count.data() + count.size(), number);
  if (error == std::errc() && end == count.data() + count.size() && number >= 1 && number <= 64) return number;
  return invalid("bad-simulate", "--simulate takes 1 to 64 GPUs, not " + text).hint("schedulearn up --simulate 4");
}

int up_role(const cli::UpOptions& options) {
  raise_file_limit();
  agent::AgentSettings settings;
  if (!options.simulate.empty()) {
    const auto count = parse_simulate(options.simulate);
    if (!count.ok()) return fail(count.error());
    settings.simulate = *count;
  }
  const std::string data = options.data.empty() ? default_data_dir() : options.data;
  net::EventLoop loop;
  auto controller = start_controller(loop, {data, options.listen, "", options.record});
  if (!controller.ok()) return fail(controller.error());
  settings.controller_url = "http://127.0.0.1:" + std::to_string((*controller)->port());
  settings.data_dir = data + "/agent";
  settings.simulate_if_none = true;
  settings.version = version;
  auto agent = agent::Agent::start(loop, settings);
  if (!agent.ok()) return fail(agent.error());
  std::printf("Schedulearn is up at %s (data in %s). Ctrl-C stops it and its jobs.\n", settings.controller_url.c_str(),
              data.c_str());
  std::fflush(stdout);
  bool stopping = false;
  std::shared_ptr<net::EventLoop::Timer> last_words;  // the ends of the jobs still go to the controller
  loop.on_signals({SIGINT, SIGTERM}, [&](int) {
    if (stopping) return loop.stop();  // asked twice: at once
    stopping = true;
    std::printf("\nStopping jobs …\n");
    std::fflush(stdout);
    (*agent)->stop_jobs([&] { last_words = loop.after(Duration::milliseconds(300), [&] { loop.stop(); }); });
  });
  loop.run();
  return 0;
}

// What was in time then must not fail because the machine is busy now; what never ends does so again.
python_policy::HostSettings replay_settings() {
  python_policy::HostSettings settings = python_policy::live_settings();
  settings.patience = 20;
  return settings;
}

// Exit status 1 when something was decided otherwise.
int replay_role(const std::string& file, bool as_json) {
  const auto replay = controller::replay(file, python_policy::make_maker(replay_settings()));
  if (!replay.ok()) return fail(replay.error());
  std::fputs((as_json ? controller::replay_json(*replay) : controller::replay_text(*replay)).c_str(), stdout);
  return replay->differences == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  return cli::run_cli(argc, argv, {up_role, controller_role, agent_role, replay_role});
}
