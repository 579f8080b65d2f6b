// What a policy wants. A plan is a list of decisions; the core checks each against the ledger, drops and counts what is
// invalid, and carries out the rest in the order release, start, grow (policies.md 0.3).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/allocation.h"
#include "model/reason.h"

namespace sl {

enum class DecisionKind : std::uint8_t {
  start,     // a waiting job (pending, or suspended: resume) gets `gpus`, all at once
  share,     // like start, and its GPUs may have other tenants, all of them shareable
  resize,    // a running job continues on another number of GPUs, `gpus`
  migrate,   // a running job continues on `gpus`, the same number as before
  suspend,   // a running job gives up its GPUs and keeps its state near them
  preempt,   // a running job is stopped at a checkpoint and goes back to the queue, keeping its submission time
  reject,    // a waiting job will never run: it ends as failed
  annotate,  // keep `value` with a job, across restarts
  promote,   // remember that the job was promoted now: service and run time start again from zero
  defer,     // why this job waits
  dedicate,  // set the affinity of the server of `gpus` to `value` (Gandiva)
};

struct Decision {
  DecisionKind kind = DecisionKind::start;
  JobIndex job;
  Allocation gpus;
  ReasonCode reason = ReasonCode::none;
  double value = 0;
};

class Plan {
 public:
  void clear() {
    decisions_.clear();
    wakes_.clear();
    last_server_ = ServerIndex::none();
    blob_.reset();
  }
  const std::vector<Decision>& decisions() const { return decisions_; }
  std::vector<Decision>& decisions() { return decisions_; }

  void start(JobIndex job, Allocation gpus) { add(DecisionKind::start, job).gpus = std::move(gpus); }
  void share(JobIndex job, Allocation gpus) { add(DecisionKind::share, job).gpus = std::move(gpus); }
  void resize(JobIndex job, Allocation gpus) { add(DecisionKind::resize, job).gpus = std::move(gpus); }
  void migrate(JobIndex job, Allocation gpus) { add(DecisionKind::migrate, job).gpus = std::move(gpus); }
  void suspend(JobIndex job) { add(DecisionKind::suspend, job); }
  void preempt(JobIndex job) { add(DecisionKind::preempt, job); }
  void reject(JobIndex job, ReasonCode why) { add(DecisionKind::reject, job).reason = why; }
  void annotate(JobIndex job, double value) { add(DecisionKind::annotate, job).value = value; }
  void promote(JobIndex job) { add(DecisionKind::promote, job); }
  void defer(JobIndex job, ReasonCode why) { add(DecisionKind::defer, job).reason = why; }
  void dedicate(ServerIndex server, int gpus_per_job) {
    Decision& decision = add(DecisionKind::dedicate, {});
    decision.gpus = Allocation(server, GpuSet::only(0));
    decision.value = gpus_per_job;
  }

  // Asks the policy again at that time. Instants in the past are ignored.
  void wake_at(Instant at) { wakes_.push_back(at); }
  const std::vector<Instant>& wakes() const { return wakes_; }

  // What the core remembers for the policy (PolicyMemory).
  void remember_last_server(ServerIndex server) { last_server_ = server; }
  void remember(std::string blob) { blob_ = std::move(blob); }
  ServerIndex last_server() const { return last_server_; }
  const std::optional<std::string>& blob() const { return blob_; }

 private:
  // In its place: the wide loads of a copy would stall on the narrow stores just before.
  Decision& add(DecisionKind kind, JobIndex job) {
    Decision& decision = decisions_.emplace_back();
    decision.kind = kind;
    decision.job = job;
    return decision;
  }

  std::vector<Decision> decisions_;
  std::vector<Instant> wakes_;
  ServerIndex last_server_;
  std::optional<std::string> blob_;
};

}  // namespace sl
