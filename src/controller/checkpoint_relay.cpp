#include "controller/checkpoint_relay.h"

#include <cstdio>
#include <random>

namespace sl::controller {
namespace {

constexpr std::size_t secrets_max = 10'000;

std::string random_secret() {
  std::random_device device;
  char text[65];
  for (int i = 0; i < 8; ++i) std::snprintf(text + 8 * i, 9, "%08x", device());
  return text;
}

}  // namespace

const std::string& CheckpointRelay::secret_of(const Incarnation& incarnation) {
  if (secrets_.size() > secrets_max) secrets_.erase(secrets_.begin());  // of the oldest job
  auto& [of, secret] = secrets_[incarnation.job];
  if (secret.empty() || of != incarnation) of = incarnation, secret = random_secret();
  return secret;
}

bool CheckpointRelay::has_secret(const wire::ControllerMessage& message) {
  const auto* start = std::get_if<wire::StartAttempt>(&message);
  return (start && start->checkpoint) || std::holds_alternative<wire::OfferCheckpoint>(message) ||
         std::holds_alternative<wire::LaunchAttempt>(message);
}

wire::ControllerMessage CheckpointRelay::with_secret(wire::ControllerMessage message) {
  if (auto* offer = std::get_if<wire::OfferCheckpoint>(&message)) offer->secret = secret_of(offer->incarnation);
  auto* start = std::get_if<wire::StartAttempt>(&message);
  if (start && start->checkpoint) start->checkpoint->secret = secret_of(start->incarnation);
  if (auto* launch = std::get_if<wire::LaunchAttempt>(&message)) {
    for (wire::AttemptPart& part : launch->parts) part.secret = secret_of(launch->incarnation);
  }
  return message;
}

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
