#include "app/roles.h"

#include <sys/resource.h>

#include <charconv>
#include <cstdio>
#include <string>
#include <utility>

#include "app/data_folder.h"
#include "app/own_commands.h"
#include "net/url.h"
#include "python_policy/loader.h"
#include "sim/continuation.h"
#include "wire/error.h"

namespace sl::app {
namespace {

constexpr const char* version = SCHEDULEARN_VERSION;

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

// Beyond loopback every access needs a token that the administrator has chosen.
Result<std::string> token_of(const cli::ControllerOptions& options, const std::string& address) {
  if (!options.token_file.empty()) return read_token(options.token_file, Daemon::controller);
  return net::is_loopback(address) ? own_token(options.data) : Result<std::string>(std::string());
}

}  // namespace

int fail(const Error& error) {
  std::fputs(wire::error_text(error).c_str(), stderr);
  return wire::exit_status(error);
}

std::uint64_t raise_file_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  const std::uint64_t before = limit.rlim_cur;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  return before;
}

std::function<std::string()> token_in(const std::string& file) {
  return [file] {
    const auto token = file.empty() ? Result<std::string>("") : read_token(file, Daemon::agent);
    return token.ok() ? *token : "";
  };
}

agent::AgentSettings agent_settings() {
  agent::AgentSettings settings;
  settings.version = version;
  settings.job_open_files = raise_file_limit();
  return settings;
}

agent::ContainerSettings container_settings(const cli::ContainerOptions& options) {
  return {options.socket, options.mounts, options.allow_root};
}

Result<std::unique_ptr<controller::Controller>> start_controller(net::EventLoop& loop,
                                                                 const cli::ControllerOptions& options) {
  const auto listen = parse_listen(options.listen);
  if (!listen.ok()) return listen.error();
  if (Status ready = prepare_data_folder(options.data, Daemon::controller); !ready.ok()) return ready.error();
  const auto token = token_of(options, listen->first);
  if (!token.ok()) return token.error();
  return controller::Controller::start(loop, {.data_dir = options.data,
                                              .listen_address = listen->first,
                                              .listen_port = listen->second,
                                              .token = *token,
                                              .version = version,
                                              .make_policy = python_policy::make_maker(python_policy::live_settings()),
                                              .continue_present = sim::continue_present,
                                              .run_command = run_own_command,
                                              .record = options.record,
                                              .snapshot_bytes_max = options.snapshot_bytes_max,
                                              .log_requests = options.log_requests,
                                              .keep = options.keep,
                                              .notify_allow = options.notify_allow});
}

}  // namespace sl::app
