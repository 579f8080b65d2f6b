// Answers reads of attempts' output and of other files that they have left. A read of output that has not been written yet waits.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "agent/agent_logic.h"
#include "agent/attempt_files.h"
#include "net/event_loop.h"
#include "wire/agent_protocol.h"

namespace sl::agent {

class LogReads {
 public:
  LogReads(net::EventLoop& loop, const AgentLogic& logic, AttemptFiles& files,
           std::function<void(const wire::LogChunk&)> send)
      : loop_(loop), logic_(logic), files_(files), send_(std::move(send)) {}

  void answer(const wire::LogRead& request);
  // The requesters have gone.
  void drop_all() { waiting_.clear(); }

 private:
  struct Waiting {
    wire::LogRead request;
    Instant answer_by;
  };
  bool try_answer(const wire::LogRead& request, bool last_chance);
  void look_again_later();

  net::EventLoop& loop_;
  const AgentLogic& logic_;
  AttemptFiles& files_;
  std::function<void(const wire::LogChunk&)> send_;
  std::vector<Waiting> waiting_;
  std::shared_ptr<net::EventLoop::Timer> look_;
};

}  // namespace sl::agent
