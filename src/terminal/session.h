// A shell to which one client at a time is connected. While there is none it runs on, and what it prints lately is kept for
// the next one. A client that does not read stops the shell's output, as a terminal does; nothing grows.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>

#include "net/event_loop.h"
#include "net/websocket.h"
#include "terminal/shell.h"

namespace sl::terminal {

class Session {
 public:
  // `ended` is called once, when the shell has ended; the session may be destroyed then.
  Session(net::EventLoop& loop, std::string user, Duration keep, std::unique_ptr<Shell> shell,
          std::function<void()> ended);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const std::string& user() const { return user_; }
  bool has_client() const { return client_ != nullptr; }
  // In place of the one before, which is told so. It gets `greeting`, then what was printed lately.
  void attach(std::shared_ptr<net::WebSocket> client, const std::string& greeting, int columns, int rows);
  void look_for_end();  // a process has ended
  void signal(int number) { shell_->signal(number); }
  // From now on what it prints is also written there, and its end is told once the client has all of it.
  void be_the_job(int output, std::function<void(int code)> ended) {
    output_ = output;
    job_ended_ = std::move(ended);
  }

 private:
  void on_readable();
  ssize_t read_some();
  void on_client_text(const std::string& text);
  void type(const std::string& bytes);
  void write_typed();
  void detach();
  void watch();
  void end(int code);
  void end_job(int code);

  net::EventLoop& loop_;
  std::string user_;
  Duration keep_;
  std::unique_ptr<Shell> shell_;
  std::function<void()> ended_;
  int output_ = -1;
  std::function<void(int code)> job_ended_;
  std::shared_ptr<net::WebSocket> client_;
  std::string latest_;  // printed, at most `latest_bytes_max`
  std::string typed_;   // not taken by the shell yet
  std::shared_ptr<net::EventLoop::Watch> watch_;
  std::shared_ptr<net::EventLoop::Timer> expiry_, writing_, looking_;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

}  // namespace sl::terminal
