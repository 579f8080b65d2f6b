// Orders to agents about attempts. An order is sent once the decision behind it is durable, and only over an open
// session: orders that could not be sent are given again when the two sides reconcile (reconciler.h).
#pragma once

#include <string>

#include "controller/agents.h"
#include "controller/checkpoints.h"
#include "controller/recorder.h"
#include "controller/strangers.h"

namespace sl::controller {

std::vector<int> indexes_of(GpuSet gpus);

// The order that stops the job's current attempt. Preempted, it may save its state; otherwise it has 30 s to end, unless
// its user wants it ended at once.
wire::StopAttempt stop_order_for(const JobEntry& entry, StopReason reason);

// Whether the job would go over from some GPUs to others by its own means, without being stopped, and whether it does.
bool can_resize_in_place(const JobEntry& entry, const Allocation& from, const Allocation& to);
bool resizes_in_place(const JobEntry& entry, const Job& job);

// Whether its processes are to stand still, instead of running or being ended.
bool is_to_be_frozen(const JobEntry& entry, const Job& job);

class Orders : public Fleet {
 public:
  Orders(Core& core, JobBook& book, Agents& agents, const Strangers& strangers, Checkpoints& checkpoints,
         Recorder& recorder, Outside& outside)
      : core_(core),
        book_(book),
        agents_(agents),
        strangers_(strangers),
        checkpoints_(checkpoints),
        recorder_(recorder),
        outside_(outside) {}

  // ---- Fleet ----
  void carry_out(const Core& core, std::vector<Command>& commands) override;

  // These wait until everything recorded so far is durable; a full disk only delays them.
  //
  // Repeats the order that `state` calls for, if the attempt is still in that state then.
  void repeat(JobId job, int attempt, JobState state);
  // The attempt, which is being stopped, gets another order: stopped with this signal. Until then none mentions it.
  void hurry(JobId job, int attempt, const std::string& signal);
  // Sends all parts of the job's attempt a signal, if it is still running then.
  void signal(JobId job, int attempt, const std::string& signal);
  // All parts of the job's attempt are prepared: they start.
  void launch(JobId job, int attempt);
  // A part of the job's attempt has ended, and not well: so do the others.
  void stop_rest(JobId job, int attempt);
  // The agent of this session holds an attempt that it should not have.
  void stop_stranger(SessionId session, const wire::AttemptReport& report);
  // The agent may drop what it keeps of an attempt that has ended.
  void forget(const std::string& server, const wire::AttemptReport& report);

 private:
  void start(JobEntry& entry, const Job& job);
  void stop(JobEntry& entry, const Job& job);
  void move(JobEntry& entry, const Job& job);
  void freeze(const JobEntry& entry);
  // To the agents of all its parts that have not ended.
  template <typename Order>
  void send_parts(const JobEntry& entry, const Order& order);
  // Null if it is not connected.
  Agent* agent_of(const std::string& server);
  std::vector<Incarnation> neighbours_of(const JobEntry& entry, const ServerGpus& part) const;
  // `act` is called once everything recorded so far is durable, if that attempt is still the present one.
  void when_durable(JobId job, int attempt, std::function<void(JobEntry&, const Job&)> act);
  template <typename Order>
  void send(Agent& agent, Order order);

  Core& core_;
  JobBook& book_;
  Agents& agents_;
  const Strangers& strangers_;
  Checkpoints& checkpoints_;
  Recorder& recorder_;
  Outside& outside_;
};

}  // namespace sl::controller
