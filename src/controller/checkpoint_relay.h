// What agents need of the controller while a checkpoint goes from one to the other, besides orders: the secret that both
// are told, and the bytes themselves where they cannot reach each other. None of this is recorded. Lives on the core's
// thread.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "controller/logic.h"

namespace sl::controller {

class CheckpointRelay {
 public:
  using Send = std::function<void(SessionId, const wire::ControllerMessage&)>;
  CheckpointRelay(const Logic& logic, Send send) : logic_(logic), send_(std::move(send)) {}

  // The order with the secret of its attempt, if it is about a checkpoint or starts one on several servers. Secrets are random, and new after a restart.
  wire::ControllerMessage with_secret(wire::ControllerMessage message);
  static bool has_secret(const wire::ControllerMessage& message);
  // Only the server where the attempt is starting may read, and only the one that has its checkpoint answers.
  void on_read(SessionId session, const wire::CheckpointRead& read);
  void on_piece(SessionId session, const wire::CheckpointPiece& piece);

 private:
  // The transfer for this attempt, which is starting on `*target`; null: there is none.
  const Checkpoints::Transfer* find(const Incarnation& incarnation, std::string* target) const;
  const std::string& secret_of(const Incarnation& incarnation);

  const Logic& logic_;
  Send send_;
  std::map<std::int64_t, std::pair<Incarnation, std::string>> secrets_;  // of the latest attempt of each job
};

// The host of "127.0.0.1:40512" or "[::1]:40512" or "::1:40512"; empty for a peer over a Unix socket.
std::string host_of_peer(const std::string& peer);

}  // namespace sl::controller
