// What the controller's logic needs from the world around it: a database that commits, sessions with agents, processes
// for users' own policies. The live world has threads and sockets (controller.cpp); tests provide their own.
#pragma once

#include <cstdint>
#include <string>

#include "store/store.h"
#include "wire/agent_protocol.h"

namespace sl::controller {

struct PolicyChange;  // policy_life.h

using SessionId = std::int64_t;  // one WebSocket of one agent; never reused

class Outside {
 public:
  virtual ~Outside() = default;
  // Writes in one transaction, then Logic::on_committed is called. There is only one commit at a time.
  virtual void commit(store::Batch batch) = 0;
  virtual void send(SessionId session, const wire::ControllerMessage& message) = 0;
  virtual void close(SessionId session, const std::string& why) = 0;
  // Makes a user's own policy, which may take seconds; then Logic::on_policy_made is called, in the order of the
  // requests.
  virtual void make_policy(const PolicyChange& change) = 0;
};

}  // namespace sl::controller
