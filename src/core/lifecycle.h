// The steps of a job's life (ARCHITECTURE.md, "Life of a job"). Each changes the job's state together with everything
// that must agree with it: the queue, the ledger, the records, the commands to the world, and the notices to the
// policy. Whether a step is allowed has been checked before (events.cpp, plan_check.h).
#pragma once

#include <vector>

#include "core/accounting.h"
#include "core/awaited.h"
#include "core/ledger.h"
#include "core/line_gate.h"
#include "core/policy_caller.h"
#include "model/command.h"
#include "model/record.h"

namespace sl {

struct Effects {
  std::vector<Record> records;
  std::vector<Command> commands;
  void clear() {
    records.clear();
    commands.clear();
  }
};

class Lifecycle {
 public:
  // `snapshot.now` is the time of every step.
  Lifecycle(Jobs& jobs, Ledger& ledger, LineGate& gate, PolicyCaller& policy, History& history,
            const Snapshot& snapshot)
      : jobs_(jobs), ledger_(ledger), gate_(gate), policy_(policy), history_(history), snapshot_(snapshot) {}
  // Later steps append to these effects.
  void begin(Effects& effects) { effects_ = &effects; }

  // ---- in and out of the queue ----
  void submit(JobIndex index, bool held);
  void hold(JobIndex index);
  void unhold(JobIndex index);
  // An attempt is over, but not the job: it waits, or is held. `exit`: if the attempt has failed.
  void requeue(JobIndex index, const Exit& exit = {});
  void leave_suspension(JobIndex index);  // a suspended job is about to be stopped
  void finish(JobIndex index, JobState final_state, const Exit& exit);
  // An attempt has ended, `late` ago: since then the job has had its GPUs, but has not run.
  void end_run(JobIndex index, Duration late);
  // The servers have changed: jobs are set aside and come back.
  void review_line();
  // A policy is about to take over and has seen no job yet: the same for its needs, without notices.
  void review_line_for(const Policy& next);
  // A waiting job's request has changed; the policy does not know the job (any more).
  void line_up_again(JobIndex index);
  // What a job that waits was waiting for besides GPUs has happened, or does not count any more, or counts again.
  void look_again(JobIndex index);
  // Jobs have ended since the last call: those that waited for their end start to wait for GPUs, or fail, and groups end
  // with their last member.
  void settle_ends() {
    if (!ends_.empty()) settle_each_end();  // usually there is none
  }
  // An unfinished job that could not be restored has ended badly.
  void forgotten(JobId job, JobId member_of) { ends_.push_back({job, member_of, false}); }
  void end_group_if_over(JobIndex group);
  // Its processes stand still on these GPUs, or soon will.
  void hold_memory(JobIndex index, const Allocation& gpus);
  // Frozen jobs hold more or less memory than at the last call: who waits for it is reviewed.
  void settle_memory();
  // The members of a group that have not come up never will: they count as cancelled.
  void drop_members_to_come(JobIndex group);
  int gpus_standing_by() const { return gpus_standing_by_; }
  const Awaited& awaited() const { return awaited_; }
  // Of jobs without GPUs the policy knows nothing.
  void notice(NoticeKind kind, JobIndex index) {
    if (jobs_[index].request.needs_gpus()) policy_.notice(snapshot_, kind, index);
  }
  // Jobs whose time has come get in line.
  void wake_due() {
    if (awaited_.next_due() <= snapshot_.now) wake_each_due();
  }
  // A job that the core did not know: it has just been submitted or restored.
  void welcome(JobIndex index);

  // ---- what a policy decides ----
  void start(JobIndex index, const Allocation& gpus, bool shared);
  void move(JobIndex index, const Allocation& gpus, bool resize);
  void suspend(JobIndex index);
  void preempt(JobIndex index);
  void reject(JobIndex index, ReasonCode reason);

  // ---- what the world reports ----
  void run(JobIndex index);              // started, resumed, migrated or resized: it runs
  void start_on_target(JobIndex index);  // it was moving and has stopped: its next attempt starts where it was to go
  void suspended(JobIndex index);        // it has given up its GPUs
  void lose_process(JobIndex index);     // a suspended job's process has ended
  void stop(JobIndex index, StopReason why);
  void command_stop(JobIndex index, StopReason why);  // only a command to the world: the job is already being stopped

 private:
  struct End {
    JobId job;
    JobId member_of;
    bool succeeded;
  };
  void set_state(JobIndex index, JobState to, const Exit& exit = {});
  void count_run(Job& job, Instant until);
  void settle_each_end();
  void wake_each_due();
  Group* group_of(const Job& member);
  bool review(JobIndex index);
  void settle_dependent(JobId dependent, const End& end);
  bool enter_queue(JobIndex index);
  void back_in_queue(JobIndex index);
  bool belongs_in_line(JobIndex index) { return gate_.admits(jobs_[index], policy_.get(), snapshot_.now); }
  void move_aside(JobIndex index);
  void move_into_line(JobIndex index);
  void release(JobIndex index, const Allocation& gpus, Demand demand);
  void await(Job& job, int gpus, int awaited);
  void release_all(JobIndex index);
  bool is_room_for_others(JobIndex index) const;
  void thaw(JobIndex index);
  void free_memory(JobIndex index);
  void settle_on_target(JobIndex index);
  void send_when_complete(JobIndex index);
  Command& command(CommandKind kind, JobIndex index, const Allocation& gpus);

  Jobs& jobs_;
  Ledger& ledger_;
  LineGate& gate_;
  PolicyCaller& policy_;
  History& history_;
  const Snapshot& snapshot_;
  Awaited awaited_;
  std::vector<End> ends_;  // for which others may wait
  bool memory_changed_ = false;
  int gpus_standing_by_ = 0;  // the sum of Job::gpus_standing_by
  Effects* effects_ = nullptr;
};

}  // namespace sl
