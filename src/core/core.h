// The core: jobs, the ledger of GPUs and the rules that change them. Deterministic: the same events at the same times
// with the same seed give the same records and commands, byte for byte. No clock, thread, file, socket or global.
//
//   apply(event, now, effects)   one thing that happened
//   schedule(now, effects)       once all events of this instant are in: ask the policy, check its plan, carry it out
//
// Effects are only appended. The caller makes records durable before it carries out commands (engine/engine.h).
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "core/accounting.h"
#include "core/groups.h"
#include "core/jobs.h"
#include "core/ledger.h"
#include "core/lifecycle.h"
#include "core/line_gate.h"
#include "core/plan_check.h"
#include "core/policy_caller.h"
#include "core/without_gpus.h"
#include "model/event.h"
#include "model/names.h"

namespace sl {

struct CoreSettings {
  WorldAbilities abilities;
  std::uint64_t seed = 1;
  std::size_t history_max = 10'000;               // finished jobs kept for estimators
  Duration reschedule_interval_min = Duration{};  // rate limit of decisions on the live cluster; 0: at every instant
  std::size_t jobs_expected = 0;                  // room for so many unfinished jobs from the start
};

class Core {
 public:
  Core(const Estimates& estimates, CoreSettings settings);
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  // ---- the two steps ----
  void apply(Event&& event, Instant now, Effects& effects);
  void schedule(Instant now, Effects& effects);
  // When schedule() wants to be called next even without an event; never() if it does not.
  Instant next_wake() const;

  // ---- policy ----
  // Takes effect at once; the queue keeps every fact. A decision follows at the next schedule().
  void set_policy(std::unique_ptr<Policy> policy, Instant now, Effects& effects);
  std::optional<Error> policy_failure() const { return policy_.get() ? policy_.get()->failure() : std::nullopt; }
  const PolicyMemory& memory() const { return memory_; }
  void restore_memory(PolicyMemory memory) { memory_ = std::move(memory); }

  // ---- restart ----
  // Restores an unfinished job as the store knew it, with the GPUs it holds. Call before set_policy. On an error the
  // job is left unchanged.
  Status restore(Job&& job, Instant now);
  // For a copy of another core: the finished jobs that it remembers, and what policies have noted with a server.
  void restore_history(std::vector<FinishedJob> jobs) { history_.restore(std::move(jobs)); }
  void restore_affinity(ServerIndex server, int gpus) { ledger_.set_affinity(server, gpus); }

  // ---- state ----
  const CoreSettings& settings() const { return settings_; }
  JobIndex find(JobId job) const { return jobs_.find(job); }  // none: unknown, or finished and gone
  const Job& job(JobIndex index) const { return jobs_[index]; }
  // For a world with more jobs than a cache holds that knows which job ends next: prefetches what its end reads, first
  // the job, then its GPUs.
  void fetch(JobIndex index) const { jobs_.fetch(index); }
  void fetch_gpus(JobIndex index) const;
  const JobTable& jobs() const { return jobs_.table(); }
  const std::vector<JobIndex>& waiting() const { return jobs_.waiting(); }
  const std::vector<JobIndex>& aside() const { return jobs_.aside(); }  // waiting out of line (core/line_gate.h)
  std::size_t aside_without_gpus() const { return jobs_.aside_without_gpus().size(); }  // so many of them need none
  // The least GPUs with which the job could be started under this policy.
  int gpus_least(JobIndex index) const {
    const Job& job = jobs_[index];
    return policy_.get() && job.request.needs_gpus() ? policy_.get()->gpus_least(job) : job.request.gpus_min;
  }
  const std::vector<JobIndex>& active() const { return jobs_.active(); }  // with GPUs
  // So many of the GPUs in use are those of jobs that wait for others of their GPUs.
  int gpus_standing_by() const { return lifecycle_.gpus_standing_by(); }
  std::vector<JobIndex> all_active() const;  // also those without: a copy
  bool has_active() const { return !jobs_.active().empty() || !jobs_.active_without_gpus().empty(); }
  bool is_in_use(ServerIndex server) const;  // an active job is there
  std::size_t unfinished() const { return jobs_.size(); }
  // The group that this member belongs to and has not come up of; none: there is none.
  JobIndex group_of_member_to_come(JobId member) const { return jobs_.group_of_member_to_come(member); }
  std::int64_t members_to_come(bool held) const { return groups_.members_to_come(held); }
  std::int64_t members_held_up() const { return groups_.members_held_up(); }
  // Of a group: its members that have come up and have not ended, by id.
  std::vector<JobId> unfinished_members(JobId group) const { return groups_.unfinished_members(group); }
  // The first member that has come up and waits, unless its user holds it; none: there is none.
  JobId waiting_member(const Job& group) const;
  bool awaits_jobs(JobIndex job) const { return gate_.awaits_jobs(jobs_[job].request); }  // to end
  const ServerTable& servers() const { return ledger_.servers(); }
  bool has_servers() const { return ledger_.has_servers(); }  // besides those that were removed
  const Ledger& ledger() const { return ledger_; }
  ServerIndex find_server(std::string_view name) const { return ledger_.find_server(name); }
  std::uint64_t refusals(Refusal why) const { return refusals_[static_cast<std::size_t>(why)]; }
  const std::vector<FinishedJob>& history() const { return history_.jobs(); }

  // ---- questions; they change nothing, whatever `now` is ----
  ReasonCode explain(JobIndex job) const;                // why it waits; none if it does not
  std::vector<JobIndex> queue_order(Instant now) const;  // Policy::queue_order
  // Jobs without GPUs that could start if there was room, in the order in which they are served.
  std::vector<JobIndex> line_without_gpus(Instant now) const { return without_gpus_.line(now, policy_.get()); }
  bool can_be_held(JobIndex job) const;                      // JobHeld would be obeyed
  bool can_freeze(JobIndex job) const;                       // by freezing it
  std::vector<Reservation> reservations(Instant now) const;  // Policy::reservations
  std::string standing(JobIndex job, Instant now) const;     // Policy::standing

  // ---- names, interned ----
  Names<UserIndex>& users() { return users_; }
  Names<FamilyIndex>& families() { return families_; }
  Names<GpuTypeIndex>& gpu_types() { return gpu_types_; }
  const Names<UserIndex>& users() const { return users_; }
  const Names<FamilyIndex>& families() const { return families_; }
  const Names<GpuTypeIndex>& gpu_types() const { return gpu_types_; }

  // Derives the ledger, the queue and the counts from scratch and compares them; for tests after each step.
  void check_invariants() const;

 private:
  // One function per event (events.cpp).
  void on(JobSubmitted& event);
  void on(const JobCancelled& event);
  void on(const JobHeld& event);
  void on(const JobForgotten& event) { lifecycle_.forgotten(event.job, event.member_of); }
  void on(const JobPreempted& event);
  void on(const JobTargetMet& event);
  void on(const JobMoved& event);
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
  void on(const ServerQuarantined& event);
  void on(const ServerRemoved& event);
  void on(const TelemetrySampled& event);
  void cancel_group(JobIndex index);
  void hold(JobIndex index);
  void unhold(JobIndex index);
  void record_server(ServerIndex server);
  void set_server_state(ServerIndex server, ServerState state);
  void review_line();

  // Plans (decisions.cpp).
  void carry_out(const Plan& plan);
  void try_to_carry_out(const Decision& decision);
  void carry_out(const Decision& decision);
  void start_jobs_without_gpus();
  void note(const Decision& decision);
  void refuse(const Decision& decision, Refusal why);

  ReasonCode explain_group(const Job& group) const;
  void begin_step(Instant now, Effects& effects);
  View view(Instant now) const;

  CoreSettings settings_;
  const Estimates& estimates_;
  Jobs jobs_;
  Ledger ledger_;
  LineGate gate_;
  TimeLimits limits_;
  History history_;
  Names<UserIndex> users_;
  Names<FamilyIndex> families_;
  Names<GpuTypeIndex> gpu_types_;
  Random random_;
  PolicyMemory memory_;
  PolicyCaller policy_;
  std::array<std::uint64_t, 16> refusals_{};
  Snapshot snapshot_;           // of all this; `now` is the time of the current step
  Effects* effects_ = nullptr;  // of the current step
  Lifecycle lifecycle_;
  Groups groups_;
  WithoutGpus without_gpus_;
  PlanCheck check_;
};

}  // namespace sl
