#include "dst/network.h"

namespace sl::dst {

Network::SessionPtr Network::open(int server, Node& agent, Node& controller) {
  auto session = std::make_shared<Session>();
  session->id = next_id_++;
  session->server = server;
  session->agent = {&agent, true, context_.heap.now(), {}};
  session->controller = {&controller, true, context_.heap.now(), {}};
  sessions_[session->id] = session;
  return session;
}

void Network::send(const SessionPtr& session, const wire::AgentMessage& message) {
  if (!session->agent.open) return;
  transmit(session, session->controller, !std::holds_alternative<wire::LogChunk>(message),
           [session, message] { session->to_controller(message); });
}

void Network::send(const SessionPtr& session, const wire::ControllerMessage& message) {
  if (!session->controller.open) return;
  transmit(session, session->agent, !std::holds_alternative<wire::LogRead>(message),
           [session, message] { session->to_agent(message); });
}

// In order, unless there is a frame fault. Frames sent into a cut are lost with the session or arrive afterwards.
void Network::transmit(const SessionPtr& session, End& to, bool may_be_lost, const std::function<void()>& deliver) {
  Instant when = context_.heap.now() + context_.between(0.0002, 0.02);
  if (is_cut(session->server)) {
    if (context_.chance(0.3)) {
      close(session, false), close(session, true);
      return;
    }
    when = cut_until_[session->server] + context_.between(0.001, 1);
  }
  int copies = 1;
  if (context_.chance(context_.faults.frame)) {
    copies = static_cast<int>(context_.random.integer(may_be_lost ? 0 : 1, 2));  // lost, only late, doubled
    when = when + context_.between(0, 2);
  } else {
    when = std::max(when, to.last_delivery + Duration{1});
    to.last_delivery = when;
  }
  for (int i = 0; i < copies; ++i) {
    to.node->post(when - context_.heap.now(), [this, session, &to, deliver] {
      if (to.open) deliver();
      context_.crash_point();
    });
    when = when + context_.between(0, 1);
  }
}

void Network::close(const SessionPtr& session, bool by_controller) {
  End& own = by_controller ? session->controller : session->agent;
  End& other = by_controller ? session->agent : session->controller;
  own.open = false;
  tell_closed(session, other);
}

// Frames sent earlier arrive first. During a cut neither side notices anything until it heals or times out.
void Network::tell_closed(const SessionPtr& session, End& end) {
  if (!end.open) return;
  Duration delay = context_.between(0.001, 0.2);
  if (is_cut(session->server)) delay = context_.between(1, 60);
  const Instant when = std::max(context_.heap.now() + delay, end.last_delivery + Duration{1});
  end.node->post(when - context_.heap.now(), [session, &end] {
    if (!end.open) return;
    end.open = false;
    if (end.on_close) end.on_close();
  });
}

void Network::node_vanished(const Node& node) {
  for (const auto& [id, session] : sessions_) {
    for (End* end : {&session->agent, &session->controller}) end->open = end->open && end->node != &node;
  }
}

void Network::node_died(Node& node) {
  for (const auto& [id, session] : sessions_) {
    if (session->agent.node == &node && session->agent.open) close(session, false);
    if (session->controller.node == &node && session->controller.open) close(session, true);
  }
  std::erase_if(sessions_, [](const auto& item) { return !item.second->agent.open && !item.second->controller.open; });
}

}  // namespace sl::dst
