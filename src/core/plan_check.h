// Whether a policy's decision may be carried out, given the current ledger (policies.md 0.3.4). Changes nothing.
#pragma once

#include <map>

#include "core/jobs.h"
#include "core/ledger.h"
#include "model/record.h"
#include "policy/plan.h"

namespace sl {

// What the world can do. A decision it cannot carry out is refused and counted; policies do not ask.
struct WorldAbilities {
  bool suspend = true;  // of any job that can be interrupted
  bool freeze = true;   // of jobs whose processes may be frozen
  bool migrate = true;
  bool resize = true;
};

class PlanCheck {
 public:
  PlanCheck(const Jobs& jobs, const Ledger& ledger, WorldAbilities abilities)
      : jobs_(jobs), ledger_(ledger), abilities_(abilities) {}

  // Why the decision is refused; none: it may be carried out. Decisions that only record something are always allowed.
  Refusal check(const Decision& decision) const;

 private:
  Refusal check_start(JobIndex index, const Allocation& gpus) const;
  Refusal check_share(const Job& job, const Allocation& gpus) const;
  Refusal check_move(JobIndex index, const Allocation& gpus, bool resize) const;
  Refusal check_suspend(const Job& job) const;
  static Refusal check_preempt(const Job& job);
  Refusal check_place(const Job& job, const Allocation& gpus) const;
  Refusal check_gpus(JobIndex index, const Allocation& gpus) const;
  bool leaves(JobIndex tenant, ServerIndex server, int gpu) const;
  bool has_room(JobIndex index, const Allocation& from, const Allocation& to) const;
  ResourceVector room_by_then(JobIndex index, ServerIndex server, GpuSet gpus) const;
  using Leaving = std::map<JobIndex, ResourceVector>;  // what they leave that nobody was promised yet
  ResourceVector counted_twice(const Job& job, ServerIndex server, GpuSet awaited, Leaving& leaving) const;
  static ResourceVector needs(const Job& job, const Allocation& gpus, const Allocation& but_for, ServerIndex server);
  void note_leaving(ServerIndex server, GpuSet gpus, Leaving& leaving) const;

  const Jobs& jobs_;
  const Ledger& ledger_;
  WorldAbilities abilities_;
};

}  // namespace sl
