#include "engine/engine.h"

#include <utility>

namespace sl {

BatchNumber Engine::turn(Instant now) {
  core_.schedule(now, effects_);
  if (effects_.records.empty() && effects_.commands.empty()) return 0;
  const BatchNumber batch = ++last_batch_;
  const bool durable_now = journal_.append(core_, effects_.records, batch);
  effects_.records.clear();
  if (durable_now && held_.empty()) {
    std::vector<Command> commands = std::exchange(effects_.commands, {});
    fleet_.carry_out(core_, commands);
    commands.clear();
    if (effects_.commands.empty()) effects_.commands = std::move(commands);  // keeps the memory
  } else {
    held_.push_back({batch, std::exchange(effects_.commands, {})});
  }
  return batch;
}

void Engine::durable(BatchNumber batch) {
  while (!held_.empty() && held_.front().batch <= batch) {
    Held ready = std::move(held_.front());
    held_.pop_front();
    fleet_.carry_out(core_, ready.commands);
  }
}

}  // namespace sl
