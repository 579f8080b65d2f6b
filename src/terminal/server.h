// Serves the shells of one attempt over a Unix socket:
//
//   GET /shell?columns=&rows=&term=   a WebSocket; to the user's shell that nobody is connected to, else to a new one
//       new=true                      to a new one in any case
//       session=N                     to that one, also in place of who is connected to it
//       argument=…                    repeated: the command of a new one, instead of the user's shell
//
// Binary frames are what is typed and printed. Text frames are JSON: {"type": "resize", "columns", "rows"} from the client;
// to it first {"type": "attached", "session", "is_new"}, or {"type": "failed", "code", "text"}; at last
// {"type": "ended", "exit_code"}. Whose a shell is, the header X-Schedulearn-User says, percent-encoded.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/http_server.h"
#include "terminal/session.h"

namespace sl::terminal {

inline constexpr std::size_t sessions_max = 8;

class Server : public net::Handler {
 public:
  using Start = std::function<Result<std::unique_ptr<Shell>>(const ShellOrder&)>;
  // `keep`: how long a shell without a client lives. `idle` is called when there has been none for a while.
  Server(net::EventLoop& loop, Duration keep, Start start, std::function<void()> idle);

  // The first shell is the job itself, at the terminal of the first client, which must be this user; without one it begins
  // after a while. It has number 1. `ended` is called with its exit code.
  void run_job(std::string user, Start start, std::function<void(int code)> ended);
  void signal_job(int number);

  void look_for_ends();  // a process has ended
  std::size_t sessions() const { return sessions_.size(); }

  // ---- net::Handler ----
  Verdict on_head(const net::Request&) override { return {{}, true}; }
  void on_request(net::Request request, std::shared_ptr<net::Reply> reply) override;
  bool on_websocket(const net::Request& request, std::shared_ptr<net::WebSocket> socket) override;
  net::Response on_protocol_error(int status, const std::string& detail) override;

 private:
  Result<int> choose(const net::Request& request, const std::string& user);
  Result<int> begin(const net::Request& request, const std::string& user);
  Result<int> begin_job(const ShellOrder& order);
  void wait_for_clients();
  struct Job {
    std::string user;
    Start start;
    std::function<void(int code)> ended;
    bool has_begun = false;
  };

  net::EventLoop& loop_;
  Duration keep_;
  Start start_;
  std::function<void()> idle_;
  std::map<int, std::unique_ptr<Session>> sessions_;
  int next_ = 1;
  std::optional<Job> job_;
  std::shared_ptr<net::EventLoop::Timer> waiting_, beginning_;
};

}  // namespace sl::terminal
