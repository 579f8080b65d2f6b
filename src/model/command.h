// What the world shall do. Every command names the attempt it is about, so that carrying it out twice does no harm.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "model/allocation.h"
#include "model/ids.h"

namespace sl {

enum class CommandKind : std::uint8_t {
  start,      // run attempt `attempt` on `gpus`; `resume`: go on from the checkpoint. Answered by AttemptStarted or
              // AttemptExited
  stop,       // end it. Answered by AttemptExited (cancelled, time limit) or AttemptReleased (preempted)
  suspend,    // keep its state, give up its GPUs. Answered by AttemptSuspended
  resume,     // continue a suspended attempt on `gpus`. Answered by AttemptStarted
  migrate,    // go on on `gpus` instead. Answered by AttemptStarted
  resize,     // go on with `gpus`, another number of them. Answered by AttemptStarted
  set_timer,  // send TimerFired at `at`
};

enum class StopReason : std::uint8_t { none, cancelled, preempted, time_limit };

struct Command {
  CommandKind kind = CommandKind::start;
  bool resume = false;
  StopReason why = StopReason::none;
  int attempt = 0;
  JobIndex index;
  JobId job;
  Allocation gpus;
  Instant at;
};

}  // namespace sl
