// What the world must do. Every command names its attempt, so carrying it out twice does no harm.
#pragma once

#include <cstdint>

#include "model/allocation.h"
#include "model/ids.h"

namespace sl {

enum class CommandKind : std::uint8_t {
  start,    // run attempt `attempt` on `gpus`; `resume`: from its last checkpoint. Answered by AttemptStarted or
            // AttemptExited
  stop,     // end it. Answered by AttemptExited (cancelled, time limit) or AttemptReleased (preempted)
  suspend,  // keep its state, give up its GPUs. Answered by AttemptSuspended
  resume,   // continue a suspended attempt on `gpus`. Answered by AttemptStarted
  migrate,  // continue on `gpus` instead. Answered by AttemptStarted; or by AttemptReleased once it has stopped, and
            // the next attempt is started there
  resize,   // continue on another number of GPUs, `gpus`. Answered like migrate
};

enum class StopReason : std::uint8_t { none, cancelled, preempted, time_limit, target_met };

struct Command {
  CommandKind kind = CommandKind::start;
  bool resume = false;
  StopReason why = StopReason::none;
  int attempt = 0;
  JobIndex index;
  JobId job;
  Allocation gpus;
};

}  // namespace sl
