// The agent's connection to the controller: one WebSocket, reopened with growing delays whenever it is lost or closed.
// Messages of older ones are ignored.
#pragma once

#include <functional>
#include <memory>
#include <random>
#include <string>

#include "net/event_loop.h"
#include "net/websocket.h"
#include "wire/agent_protocol.h"

namespace sl::agent {

class ControllerSession {
 public:
  struct Events {
    std::function<void()> on_open;
    std::function<void(const wire::ControllerMessage&)> on_message;
    std::function<void()> on_lost;  // not if we closed it
  };
  ControllerSession(net::EventLoop& loop, const std::string& controller_url, std::function<std::string()> token,
                    Events events);
  ~ControllerSession();
  ControllerSession(const ControllerSession&) = delete;
  ControllerSession& operator=(const ControllerSession&) = delete;

  void connect();
  void give_up();
  bool is_open() const { return socket_ != nullptr; }
  void send(const wire::AgentMessage& message);  // dropped if it is not open

 private:
  void on_open(std::shared_ptr<net::WebSocket> socket);
  void on_text(const std::string& text);
  void lose();
  void say(const std::string& why);
  void retry();

  net::EventLoop& loop_;
  std::string url_;
  std::function<std::string()> token_;
  Events events_;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
  std::shared_ptr<net::WebSocket> socket_;
  int number_ = 0;    // counts sockets
  std::string said_;  // why it has not joined, as told last
  bool is_answered_ = false;  // by this connection
  std::shared_ptr<void> connecting_;
  std::shared_ptr<net::EventLoop::Timer> retry_;
  double retry_s_;
  Instant welcomed_ = Instant::never();  // when the session that is open began
  std::mt19937 random_;
};

}  // namespace sl::agent
