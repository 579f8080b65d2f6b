// The core: jobs, the ledger of GPUs and the rules that change them. Deterministic: the same events at the same times
// with the same seed give the same records and commands, byte for byte. No clock, thread, file, socket or global.
//
//   apply(event, now, effects)   one thing that happened
//   schedule(now, effects)       once all events of this instant are in: ask the policy, check its plan, carry it out
//
// Effects are only appended. The caller makes records durable before it carries out commands (engine/engine.h).
#pragma once

#include <array>
#include <boost/unordered/unordered_flat_set.hpp>
#include <deque>
#include <memory>
#include <queue>
#include <vector>

#include "core/ledger.h"
#include "model/command.h"
#include "model/event.h"
#include "model/names.h"
#include "model/record.h"
#include "policy/policy.h"

namespace sl {

struct Effects {
  std::vector<Record> records;
  std::vector<Command> commands;
  void clear() {
    records.clear();
    commands.clear();
  }
};

// What the world below can do. A decision it cannot carry out is refused and counted; policies do not ask.
struct WorldAbilities {
  bool suspend = true;
  bool migrate = true;
  bool resize = true;
};

struct CoreSettings {
  WorldAbilities abilities;
  std::uint64_t seed = 1;
  std::size_t history_max = 10'000;               // finished jobs kept for estimators
  Duration reschedule_interval_min = Duration{};  // rate limit of decisions on the live cluster; 0: at every instant
};

// What survives a restart of one unfinished job; the rest of Job is derived.
struct RestoredJob {
  Job job;
};

class Core {
 public:
  Core(const Estimates& estimates, CoreSettings settings);
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  // ---- the two steps ----
  void apply(Event&& event, Instant now, Effects& effects);
  void schedule(Instant now, Effects& effects);
  // When schedule() wants to be called next though nothing happens; never() when it does not.
  Instant next_wake() const;

  // ---- policy ----
  // Takes effect at once; the queue keeps every fact. A decision follows at the next schedule().
  void set_policy(std::unique_ptr<Policy> policy, Instant now, Effects& effects);
  std::optional<Error> policy_failure() const { return policy_ ? policy_->failure() : std::nullopt; }
  const PolicyMemory& memory() const { return memory_; }
  void restore_memory(PolicyMemory memory) { memory_ = std::move(memory); }

  // ---- restart ----
  // Puts back an unfinished job as the store knew it, with the GPUs it holds. Call before set_policy. On an error the
  // job is left as it was.
  Status restore(RestoredJob&& restored, Instant now);

  // ---- what is ----
  JobIndex find(JobId job) const;  // none when unknown or finished and gone
  const Job& job(JobIndex index) const { return jobs_[index]; }
  // For a world with more jobs than a cache holds, which knows which ends next: asks for what its end reads, first the
  // job, then its GPUs.
  void fetch(JobIndex index) const;
  void fetch_gpus(JobIndex index) const;
  const JobTable& jobs() const { return jobs_; }
  const std::vector<JobIndex>& waiting() const { return waiting_; }
  const std::vector<JobIndex>& active() const { return active_; }
  std::size_t unfinished() const { return by_id_.size(); }
  const ServerTable& servers() const { return ledger_.servers(); }
  const Ledger& ledger() const { return ledger_; }
  ServerIndex find_server(std::string_view name) const { return ledger_.find_server(name); }
  std::uint64_t refusals(Refusal why) const { return refusals_[static_cast<std::size_t>(why)]; }
  Reason explain(JobIndex job, Instant now) const;       // why it waits; code none when it does not
  std::vector<JobIndex> queue_order(Instant now) const;  // as the policy serves it
  const std::vector<FinishedJob>& history() const { return history_; }
  Names<UserIndex>& users() { return users_; }
  Names<FamilyIndex>& families() { return families_; }
  Names<GpuTypeIndex>& gpu_types() { return gpu_types_; }
  const Names<UserIndex>& users() const { return users_; }
  const Names<GpuTypeIndex>& gpu_types() const { return gpu_types_; }

  // Derives the ledger, the queue and the counts from scratch and compares; for tests after each step.
  void check_invariants() const;

 private:
  // Jobs in a set, by their ids.
  struct HashOfId {
    using is_transparent = void;
    const JobTable* jobs;
    std::size_t operator()(JobId id) const { return std::hash<JobId>{}(id); }
    std::size_t operator()(JobIndex index) const { return (*this)((*jobs)[index].request.id); }
  };
  struct SameId {
    using is_transparent = void;
    const JobTable* jobs;
    bool operator()(JobIndex a, JobIndex b) const { return a == b || (*this)((*jobs)[a].request.id, b); }
    bool operator()(JobId id, JobIndex index) const { return id == (*jobs)[index].request.id; }
    bool operator()(JobIndex index, JobId id) const { return id == (*jobs)[index].request.id; }
  };

  struct Limit {  // a running attempt's time limit
    Instant at;
    JobId job;
    int attempt;
    friend bool operator>(const Limit& a, const Limit& b) { return std::tie(a.at, a.job) > std::tie(b.at, b.job); }
  };

  // One function per event (events.cpp).
  void on(JobSubmitted& event);
  void on(const JobCancelled& event);
  void on(const JobHeld& event);
  void on(const JobEdited& event);
  void on(const AttemptStarted& event);
  void on(AttemptProgressed& event);
  void on(const AttemptSuspended& event);
  void on(const AttemptReleased& event);
  void on(const AttemptExited& event);
  void on(const ServerJoined& event);
  void on(const ServerSilent& event);
  void on(const ServerLost& event);
  void on(const ServerDrained& event);
  void on(const TelemetrySampled& event);
  void on(const TimerFired& event);

  // Plans (decisions.cpp). Each returns why the decision is refused, or Refusal::none after carrying it out.
  void carry_out(const Plan& plan);
  void try_to_carry_out(const Decision& decision);
  Refusal decide_start(const Decision& decision, bool shared);
  Refusal decide_move(const Decision& decision, bool resize);
  Refusal decide_suspend(const Decision& decision);
  Refusal decide_preempt(const Decision& decision);
  Refusal decide_reject(const Decision& decision);
  Refusal decide(const Decision& decision);
  Refusal check_place(const Job& job, const Allocation& gpus) const;
  Refusal check_gpus(const Job& job, JobIndex index, const Allocation& gpus) const;
  bool is_known(JobIndex index) const { return jobs_.contains(index) && jobs_[index].request.id.valid(); }
  bool note(const Decision& decision);  // decisions that only inform; false for the others
  bool leaves(JobIndex tenant, ServerIndex server, int gpu) const;

  // Steps shared by the handlers (core.cpp).
  Job* find_attempt(JobId job, int attempt, JobIndex* index, JobIndex guess = {});
  void set_state(JobIndex index, JobState to, const Exit& exit = {});
  void enter_queue(JobIndex index);
  void leave_queue(JobIndex index);
  void enter_active(JobIndex index);
  void leave_active(JobIndex index);
  void requeue(JobIndex index);
  void leave_suspension(JobIndex index);
  void finish(JobIndex index, JobState final_state, const Exit& exit);
  void release(JobIndex index, const Allocation& gpus, const ResourceVector& demand);
  void release_all(JobIndex index);
  void note_promotion(Job& job);
  void received_gpu(JobIndex index);
  void send_when_complete(JobIndex index);
  void accrue(Job& job);
  void notice(NoticeKind kind, JobIndex index);
  void stop(JobIndex index, StopReason why);
  void stop_overdue();
  JobIndex free_slot();
  void give_back_slot(JobIndex index);
  void retire();
  void wake_policy(Trigger trigger);
  void command(CommandKind kind, JobIndex index, const Allocation& gpus);
  Snapshot view();
  Reason explain_by_ledger(JobIndex index) const;

  CoreSettings settings_;
  const Estimates& estimates_;
  Ledger ledger_;
  JobTable jobs_;
  boost::unordered_flat_set<JobIndex, HashOfId, SameId> by_id_;  // the ids are in the jobs: small, to stay in a cache
  std::vector<JobIndex> free_slots_;
  std::vector<JobIndex> retired_;  // finished in this step: freed at the next
  std::vector<JobIndex> waiting_;
  std::vector<JobIndex> active_;
  IndexedVector<JobIndex, std::uint32_t> position_;  // in waiting_ or active_
  std::vector<FinishedJob> history_;
  std::priority_queue<Limit, std::vector<Limit>, std::greater<>> limits_;
  Names<UserIndex> users_;
  Names<FamilyIndex> families_;
  Names<GpuTypeIndex> gpu_types_;
  Random random_;

  std::unique_ptr<Policy> policy_;
  PolicyMemory memory_;
  Plan plan_;
  bool ask_policy_ = false;
  Trigger trigger_ = Trigger::arrival;
  Instant policy_wake_ = Instant::never();
  Instant last_decision_;
  std::array<std::uint64_t, 16> refusals_{};

  Instant now_;                 // of the present step
  Effects* effects_ = nullptr;  // of the present step
  const Snapshot snapshot_;     // of all this
};

}  // namespace sl
