#include "controller/attempt_secrets.h"

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

const std::string& AttemptSecrets::of(const Incarnation& incarnation) {
  if (latest_.size() > secrets_max) latest_.erase(latest_.begin());  // of the oldest job
  auto& [attempt, secret] = latest_[incarnation.job];
  if (secret.empty() || attempt != incarnation) attempt = incarnation, secret = random_secret();
  return secret;
}

bool AttemptSecrets::are_needed(const wire::ControllerMessage& message) {
  const auto* start = std::get_if<wire::StartAttempt>(&message);
  return (start && start->checkpoint) || std::holds_alternative<wire::OfferCheckpoint>(message) ||
         std::holds_alternative<wire::LaunchAttempt>(message);
}

wire::ControllerMessage AttemptSecrets::enter(wire::ControllerMessage message) {
  if (auto* offer = std::get_if<wire::OfferCheckpoint>(&message)) offer->secret = of(offer->incarnation);
  auto* start = std::get_if<wire::StartAttempt>(&message);
  if (start && start->checkpoint) start->checkpoint->secret = of(start->incarnation);
  if (auto* launch = std::get_if<wire::LaunchAttempt>(&message)) {
    for (wire::AttemptPart& part : launch->parts) part.secret = of(launch->incarnation);
  }
  return message;
}

}  // namespace sl::controller
