// What only the servers of one attempt know: it opens the checkpoint that one sends to another, and starts the ranks of
// MPI. Random, new after a restart of the controller, entered into orders as they are sent, so that no recording has it.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "model/incarnation.h"
#include "wire/agent_protocol.h"

namespace sl::controller {

class AttemptSecrets {
 public:
  // Whether agents need the secret with this order.
  static bool are_needed(const wire::ControllerMessage& message);
  wire::ControllerMessage enter(wire::ControllerMessage message);

 private:
  const std::string& of(const Incarnation& incarnation);

  std::map<std::int64_t, std::pair<Incarnation, std::string>> latest_;  // attempt of each job
};

}  // namespace sl::controller
