#include "controller/checkpoint_relay.h"

namespace sl::controller {

const Checkpoints::Transfer* CheckpointRelay::find(const Incarnation& incarnation, std::string* target) const {
  const JobEntry* entry = logic_.book().find(JobId(incarnation.job));
  const Checkpoints::Transfer* transfer = entry ? logic_.checkpoints().find(*entry) : nullptr;
  if (!transfer || !transfer->is_ordered || incarnation_of(*latest_placement(*entry)) != incarnation) return nullptr;
  *target = latest_placement(*entry)->server;
  return transfer;
}

void CheckpointRelay::on_read(SessionId session, const wire::CheckpointRead& read) {
  const Agent* asking = logic_.agents().by_session(session);
  std::string target;
  const Checkpoints::Transfer* transfer = find(read.incarnation, &target);
  wire::CheckpointPiece none{read.incarnation, read.request, {}, "unknown", {}};
  if (!asking || !transfer || asking->hello.server != target) return send_(session, none);
  const Agent* there = logic_.agents().by_server(transfer->from);
  if (there && there->session != 0) return send_(there->session, read);
  none.error = "source-away";
  send_(session, none);
}

void CheckpointRelay::on_piece(SessionId session, const wire::CheckpointPiece& piece) {
  const Agent* answering = logic_.agents().by_session(session);
  std::string target;
  const Checkpoints::Transfer* transfer = find(piece.incarnation, &target);
  if (!answering || !transfer || answering->hello.server != transfer->from) return;
  const Agent* here = logic_.agents().by_server(target);
  if (here && here->session != 0) send_(here->session, piece);
}

std::string host_of_peer(const std::string& peer) {
  const std::size_t colon = peer.rfind(':');
  std::string host = colon == std::string::npos ? "" : peer.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (host.starts_with("::ffff:")) host = host.substr(7);
  return host;
}

}  // namespace sl::controller
