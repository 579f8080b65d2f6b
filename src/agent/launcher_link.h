// The agent's connection to its launcher. There must always be one: if none answers, one is started, and one that has
// ended is replaced.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "agent/launcher_wire.h"
#include "base/result.h"
#include "net/event_loop.h"

namespace sl::agent {

// The folder of this program, where its helpers are; without /proc, as the kernel was told to run it.
std::string program_folder();

struct LauncherSettings {
  std::string data_dir;
  std::string program;           // empty: schedulearn-launcher next to this program
  std::uint64_t open_files = 0;  // how many files a job may have open; 0: as many as the agent
};

class LauncherLink {
 public:
  struct Events {
    std::function<void(const Fields&)> on_message;
    std::function<void()> on_lost;  // it was killed, perhaps with jobs of it alive: the next one adopts them
  };
  LauncherLink(net::EventLoop& loop, LauncherSettings settings, Events events)
      : loop_(loop), settings_(std::move(settings)), events_(std::move(events)) {}
  ~LauncherLink() { disconnect(); }
  LauncherLink(const LauncherLink&) = delete;
  LauncherLink& operator=(const LauncherLink&) = delete;

  // Also asks it what it holds. Waits up to five seconds for one that had to be started. Error: "launcher-missing".
  Status connect();
  // Like connect(), retried every second after an error.
  void reconnect();
  void disconnect();
  bool is_connected() const { return socket_ >= 0; }
  // Whether what it is connected to is another program than it would start, or an earlier one of that name.
  bool is_of_another_build() const { return is_of_another_build_; }

  // Never waits for a launcher that does not read. Does nothing without a connection.
  void send(const Fields& message);
  // Goes out together with the next one.
  void send_with_next(const Fields& message);
  // To be called at every tick of the agent: sends what could not be sent at once, and asks the launcher now and then
  // whether it still works. One that does not answer, since it or its disk stands still, counts as lost until it does.
  // Ticks are counted, not seconds: this process may have stood still itself.
  void tick();

 private:
  void flush();
  bool try_socket();
  std::string program() const;  // that it starts
  bool has_another_build() const;
  Status start_launcher() const;
  void read();
  void lose();

  net::EventLoop& loop_;
  LauncherSettings settings_;
  Events events_;
  int socket_ = -1;
  int ticks_ = 0;               // since it was asked, or has answered
  bool is_asked_ = false;       // and has not answered
  bool answers_pings_ = false;  // one of an older version does not
  bool is_of_another_build_ = false;
  FrameReader reader_;
  std::string unsent_;
  std::shared_ptr<net::EventLoop::Watch> watch_;
  std::shared_ptr<net::EventLoop::Timer> retry_;
};

}  // namespace sl::agent
