#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <utility>

#include "container/engine.h"
#include "container/order.h"
#include "terminal/shell.h"

namespace sl::terminal {
namespace {

constexpr Duration patience = Duration::whole_seconds(5);  // less than a client waits until it has a terminal

// Images often have no bash.
const std::vector<std::string> any_shell = {"/bin/sh", "-c",
                                            "if [ -x /bin/bash ]; then exec /bin/bash -i; else exec /bin/sh -i; fi"};

class ShellInContainer : public Shell {
 public:
  ShellInContainer(container::Engine engine, std::string id, int connection)
      : engine_(std::move(engine)), id_(std::move(id)), connection_(connection) {}
  ~ShellInContainer() override { ::close(connection_); }
  ShellInContainer(const ShellInContainer&) = delete;
  ShellInContainer& operator=(const ShellInContainer&) = delete;

  int descriptor() const override { return connection_; }
  void resize(int columns, int rows) override { (void)engine_.resize_exec(id_, columns, rows); }
  void signal(int number) override {
    const auto state = engine_.inspect_exec(id_);
    if (state.ok() && state->runs && state->pid > 1) ::kill(static_cast<pid_t>(state->pid), number);
  }
  // An engine closes the connection a moment before it says how it ended.
  std::optional<int> exit_code() override {
    if (!has_closed()) return std::nullopt;
    constexpr int looks = 100;
    for (int look = 0; look < looks; ++look) {
      const auto state = engine_.inspect_exec(id_);
      if (!state.ok()) break;
      if (!state->runs) return state->exit_code;
      ::usleep(20'000);
    }
    return -1;
  }

 private:
  bool has_closed() const {
    char byte = 0;
    return ::recv(connection_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
  }

  container::Engine engine_;
  std::string id_;
  int connection_;
};

}  // namespace

Result<std::unique_ptr<Shell>> start_in_container(const std::string& folder, const ShellOrder& order) {
  const Result<container::Order> attempt = container::read_order(folder);
  if (!attempt.ok()) return attempt.error();
  container::Engine engine(attempt->socket, patience);
  std::vector<std::string> command = order.command.empty() ? any_shell : order.command;
  command.insert(command.begin(), {container::init_inside, "shell"});
  const auto id = engine.create_exec(attempt->name, {std::move(command), {"TERM=" + order.term}, attempt->workdir});
  if (!id.ok()) return id.error();
  const auto connection = engine.start_exec(*id);
  if (!connection.ok()) return connection.error();
  ::fcntl(*connection, F_SETFL, O_NONBLOCK);
  auto shell = std::make_unique<ShellInContainer>(std::move(engine), *id, *connection);
  shell->resize(order.columns, order.rows);
  return std::unique_ptr<Shell>(std::move(shell));
}

}  // namespace sl::terminal
