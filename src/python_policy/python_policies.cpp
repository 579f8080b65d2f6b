#include "python_policy/python_policies.h"

#include <unordered_map>

#include "policy/placer.h"
#include "policy/preemptive_policy.h"

namespace sl::python_policy {
namespace {

namespace json = boost::json;

Fault no_such_job() { return {"garbage", "its process named a job that does not exist", 0, ""}; }

// The jobs of an answer, in its order. Nothing if it names a job that was never sent.
std::optional<std::vector<JobIndex>> ordered(const Conversation& talk, const json::object& answer) {
  std::vector<JobIndex> jobs;
  const json::value* order = answer.if_contains("order");
  if (!order || !order->is_array()) return std::nullopt;
  for (const json::value& slot : order->get_array()) {
    jobs.push_back(talk.job(slot));
    if (!jobs.back().valid()) return std::nullopt;
  }
  return jobs;
}

// ---- order ----

class OrderPolicy : public Policy {
 public:
  OrderPolicy(bool blocking, Conversation talk) : talk_(std::move(talk)), blocking_(blocking) {}
  void attach(const Snapshot&) override { talk_.attach(); }
  void notice(const Snapshot&, NoticeKind, JobIndex job) override { talk_.touch(job); }
  std::optional<Error> failure() const override { return talk_.failure(); }

  void decide(const Snapshot& snapshot, Plan& plan) override {
    if (snapshot.waiting.empty() || snapshot.free.total() == 0) return;  // nothing could start in any order
    const auto answer = talk_.ask(snapshot, plan);
    if (!answer) return;
    const auto jobs = ordered(talk_, *answer);
    if (!jobs) return talk_.refuse(no_such_job());
    Trial trial(snapshot.free);
    for (const JobIndex index : *jobs) {
      const Job& job = snapshot.job(index);
      if (!job.is_waiting()) continue;
      auto gpus = place(trial.free(), snapshot.servers, job.request, job.request.gpus);
      if (!gpus && blocking_) return;
      if (!gpus) continue;
      trial.take(*gpus, job.request);
      plan.start(index, std::move(*gpus));
    }
  }

 private:
  Conversation talk_;
  bool blocking_;
};

class PreemptiveOrderPolicy : public PreemptivePolicy {
 public:
  PreemptiveOrderPolicy(Duration min_run, Conversation talk)
      : PreemptivePolicy({.min_quantum = min_run}), talk_(std::move(talk)) {}
  void attach(const Snapshot& snapshot) override {
    talk_.attach();
    positions_.clear();
    PreemptivePolicy::attach(snapshot);
  }
  void notice(const Snapshot& snapshot, NoticeKind kind, JobIndex job) override {
    talk_.touch(job);
    PreemptivePolicy::notice(snapshot, kind, job);
  }
  std::optional<Error> failure() const override { return talk_.failure(); }

 protected:
  Rank waiting_rank(const Snapshot&, const Job& job) override { return {.major = position(job, Rank::last)}; }
  // A job that the answer leaves out is never preempted.
  Rank running_rank(const Snapshot&, const Job& job) override {
    const std::int64_t at = position(job, -1);
    return at < 0 ? Rank::most_urgent() : Rank{.major = at};
  }

  bool prepare(const Snapshot& snapshot, Plan& plan) override {
    if (snapshot.waiting.empty()) return false;
    lines_.clear();  // without an answer no job is served
    const auto answer = talk_.ask(snapshot, plan);
    if (!answer) return false;
    const auto jobs = ordered(talk_, *answer);
    if (!jobs) {
      talk_.refuse(no_such_job());
      return false;
    }
    positions_.clear();
    for (const JobIndex index : *jobs)
      positions_.emplace(snapshot.job(index).request.id, static_cast<std::int64_t>(positions_.size()));
    for (const JobIndex index : *jobs) {
      const Job& job = snapshot.job(index);
      if (job.is_waiting()) lines_.insert(index, job, gpus_of(job), key_of(snapshot, job));
    }
    return true;
  }

 private:
  std::int64_t position(const Job& job, std::int64_t otherwise) const {
    const auto at = positions_.find(job.request.id);
    return at == positions_.end() ? otherwise : at->second;
  }

  Conversation talk_;
  std::unordered_map<JobId, std::int64_t> positions_;  // of the last answer
};

// ---- decide ----

struct Action {
  std::string_view kind;
  JobIndex job;
  int gpus = 0;
};

class DecidePolicy : public Policy {
 public:
  explicit DecidePolicy(Conversation talk) : talk_(std::move(talk)) {}
  void attach(const Snapshot&) override { talk_.attach(); }
  void notice(const Snapshot&, NoticeKind, JobIndex job) override { talk_.touch(job); }
  int gpus_least(const Job& job) const override { return job.request.gpus_min; }
  std::optional<Error> failure() const override { return talk_.failure(); }

  void decide(const Snapshot& snapshot, Plan& plan) override {
    if (snapshot.waiting.empty() && snapshot.active.empty()) return;
    const auto answer = talk_.ask(snapshot, plan);
    if (!answer) return;
    const auto actions = read(snapshot, *answer);
    if (!actions) return talk_.refuse(no_such_job());
    Trial trial(snapshot.free);
    for (const Action& action : *actions) release(snapshot, action, trial, plan);
    for (const Action& action : *actions) start(snapshot, action, trial, plan);
    for (const Action& action : *actions) grow(snapshot, action, trial, plan);
  }

 private:
  // The Python side has already checked this and reported the author's line; this check protects us from the Python
  // side.
  std::optional<std::vector<Action>> read(const Snapshot& snapshot, const json::object& answer) const {
    std::vector<Action> actions;
    const json::value* list = answer.if_contains("actions");
    if (!list || !list->is_array()) return std::nullopt;
    for (const json::value& entry : list->get_array()) {
      if (!entry.is_array() || entry.get_array().size() != 3) return std::nullopt;
      const json::array& parts = entry.get_array();
      if (!parts[0].is_string() || !parts[2].is_int64()) return std::nullopt;
      Action action{parts[0].get_string(), talk_.job(parts[1]), static_cast<int>(parts[2].get_int64())};
      if (!action.job.valid() || !is_possible(snapshot.job(action.job), action)) return std::nullopt;
      if (action.kind != "preempt") action.gpus = allowed_gpus(snapshot.job(action.job).request, action.gpus);
      actions.push_back(action);
    }
    return actions;
  }
  static bool is_possible(const Job& job, const Action& action) {
    const bool count_fits = action.gpus >= job.request.gpus_min && action.gpus <= job.request.gpus_max;
    if (action.kind == "start") return job.is_waiting() && count_fits;
    return job.state == JobState::running && (action.kind == "preempt" || (action.kind == "resize" && count_fits));
  }

  // Without GPUs that have failed or that others use: their job may end there, and no other may start.
  static Allocation usable(const Snapshot& snapshot, const Allocation& gpus) {
    Allocation left;
    for (const ServerGpus& part : gpus.parts()) {
      const Server& server = snapshot.servers[part.server];
      const GpuSet there = part.gpus - server.outside - server.unavailable;
      if (!there.empty()) left.append(part.server, there);
    }
    return left;
  }
  static void release(const Snapshot& snapshot, const Action& action, Trial& trial, Plan& plan) {
    const Job& job = snapshot.job(action.job);
    if (action.kind == "preempt") {
      trial.give(usable(snapshot, job.allocation), job.request);
      plan.preempt(action.job);
    } else if (action.kind == "resize" && action.gpus < job.allocation.count()) {
      Allocation kept = first(job.allocation, action.gpus);
      // A resize would start it on a server that accepts no jobs now, or moves members to where they do not fit.
      if (!may_stay_on(snapshot, job, kept) || !trial.free().fits_more(job.allocation, kept, job.request)) return;
      trial.give(usable(snapshot, difference(job.allocation, kept)));
      plan.resize(action.job, std::move(kept));
    }
  }
  static void start(const Snapshot& snapshot, const Action& action, Trial& trial, Plan& plan) {
    if (action.kind != "start") return;
    const JobRequest& request = snapshot.job(action.job).request;
    auto gpus = place(trial.free(), snapshot.servers, snapshot.job(action.job), action.gpus);
    if (!gpus) return;
    trial.take(*gpus, request);
    plan.start(action.job, std::move(*gpus));
  }
  // Grows on its own servers first, elsewhere only if it may span several. Takes as much as there is room for, if not
  // all.
  static void grow(const Snapshot& snapshot, const Action& action, Trial& trial, Plan& plan) {
    const Job& job = snapshot.job(action.job);
    if (action.kind != "resize" || action.gpus <= job.allocation.count()) return;
    Allocation grown = grown_in_place(trial.free(), snapshot.servers, job.request, job.allocation, action.gpus);
    const int missing = action.gpus - grown.count();
    if (missing > 0 && !job.request.single_server()) add_elsewhere(snapshot, job, missing, grown, trial);
    if (grown.count() == job.allocation.count() || !may_stay_on(snapshot, job, job.allocation)) return;
    if (!may_run_on(job.request, grown.count()) || !trial.free().fits_more(job.allocation, grown, job.request)) return;
    trial.take_more(job.allocation, grown, job.request);
    plan.resize(action.job, std::move(grown));
  }
  static void add_elsewhere(const Snapshot& snapshot, const Job& job, int missing, Allocation& grown, Trial& trial) {
    const std::size_t before = trial.mark();
    trial.take(difference(grown, job.allocation));
    if (const auto more = place_anywhere(trial.free(), snapshot.servers, job.request, missing)) {
      Allocation wider = grown;
      for (const ServerGpus& part : more->parts()) wider.add(part.server, part.gpus);
      if (job.request.may_spread_over(wider)) grown = std::move(wider);
    }
    trial.rewind(before);
  }
  static Allocation first(const Allocation& gpus, int count) {
    Allocation kept;
    for (const ServerGpus& part : gpus.parts()) {
      const int here = std::min(part.gpus.count(), count - kept.count());
      if (here > 0) kept.append(part.server, part.gpus.lowest(here));
    }
    return kept;
  }

  Conversation talk_;
};

}  // namespace

std::unique_ptr<Policy> make_python_policy(const Kind& kind, Conversation conversation) {
  if (kind.decides) return std::make_unique<DecidePolicy>(std::move(conversation));
  if (kind.preemptive) return std::make_unique<PreemptiveOrderPolicy>(kind.min_run, std::move(conversation));
  return std::make_unique<OrderPolicy>(kind.blocking, std::move(conversation));
}

}  // namespace sl::python_policy
