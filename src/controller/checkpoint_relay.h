// Passes on the bytes of a checkpoint between agents that cannot reach each other. None of this is recorded. Lives on the
// core's thread.
#pragma once

#include <functional>
#include <string>

#include "controller/logic.h"

namespace sl::controller {

class CheckpointRelay {
 public:
  using Send = std::function<void(SessionId, const wire::ControllerMessage&)>;
  CheckpointRelay(const Logic& logic, Send send) : logic_(logic), send_(std::move(send)) {}

  // Only the server where the attempt is starting may read, and only the one that has its checkpoint answers.
  void on_read(SessionId session, const wire::CheckpointRead& read);
  void on_piece(SessionId session, const wire::CheckpointPiece& piece);

 private:
  // The transfer for this attempt, which is starting on `*target`; null: there is none.
  const Checkpoints::Transfer* find(const Incarnation& incarnation, std::string* target) const;

  const Logic& logic_;
  Send send_;
};

// The host of "127.0.0.1:40512" or "[::1]:40512" or "::1:40512"; empty for a peer over a Unix socket.
std::string host_of_peer(const std::string& peer);

}  // namespace sl::controller
