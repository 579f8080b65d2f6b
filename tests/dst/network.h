// Sessions between agents and the controller: two ordered streams of frames that are delayed and can break. With frame
// faults on, frames are also lost, duplicated and reordered, which never happens in a real stream. Requests for output
// are not lost: they have no sequence numbers that would reveal it.
#pragma once

#include <functional>
#include <map>
#include <memory>

#include "dst/context.h"
#include "wire/agent_protocol.h"

namespace sl::dst {

class Network {
 public:
  explicit Network(Context& context) : context_(context) {}

  struct End {  // of one session; the functions run in the process that owns it
    Node* node = nullptr;
    bool open = false;
    Instant last_delivery;
    std::function<void()> on_close;
  };
  struct Session {
    std::int64_t id = 0;
    int server = 0;
    End agent, controller;
    std::function<void(const wire::AgentMessage&)> to_controller;
    std::function<void(const wire::ControllerMessage&)> to_agent;
  };
  using SessionPtr = std::shared_ptr<Session>;

  SessionPtr open(int server, Node& agent, Node& controller);
  void send(const SessionPtr& session, const wire::AgentMessage& message);
  void send(const SessionPtr& session, const wire::ControllerMessage& message);
  // One end hangs up; the other notices later, or much later.
  void close(const SessionPtr& session, bool by_controller);
  // The machine at one end has lost its power: the other end is never told.
  void node_vanished(const Node& node);
  // The process at one end has died.
  void node_died(Node& node);

  void cut(int server, Duration time) { cut_until_[server] = context_.heap.now() + time; }
  bool is_cut(int server) const {
    const auto at = cut_until_.find(server);
    return !context_.calm && at != cut_until_.end() && context_.heap.now() < at->second;
  }

 private:
  void transmit(const SessionPtr& session, End& to, bool may_be_lost, const std::function<void()>& deliver);
  void tell_closed(const SessionPtr& session, End& end);

  Context& context_;
  std::map<int, Instant> cut_until_;
  std::map<std::int64_t, SessionPtr> sessions_;
  std::int64_t next_id_ = 1;
};

}  // namespace sl::dst
