#include "study/policy_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/shell_words.h"
#include "policy/placer.h"
#include "policy/policy_wrapper.h"
#include "trace/workloads.h"

namespace sl::study {
namespace {

constexpr int measured_servers = 100, measured_gpus = 8;
constexpr std::size_t waiting_low = 900, waiting_high = 1100;  // decisions with this many waiting jobs are measured

// What is observed of a policy while it decides.
struct Seen {
  std::optional<Error> failure;
  std::optional<JobId> left_waiting;  // the first job it left waiting although it fitted
  std::vector<double> decision_ms;    // with about a thousand waiting jobs
  std::chrono::duration<double> deciding{};
  std::int64_t decisions = 0;
  std::atomic<bool> enough{false};
  bool is_too_slow() const { return deciding > std::chrono::minutes(1); }
};

// The first job that would still fit after the whole plan. Nothing if GPUs change hands: what fits is not known then
// until the other jobs have released theirs.
std::optional<JobId> left_waiting(const Snapshot& snapshot, const Plan& plan) {
  const auto moves_gpus = [](const Decision& decision) {
    return decision.kind != DecisionKind::start && decision.kind != DecisionKind::annotate;
  };
  if (std::any_of(plan.decisions().begin(), plan.decisions().end(), moves_gpus)) return std::nullopt;
  Trial trial(snapshot.free);
  std::vector<JobIndex> started;
  for (const Decision& decision : plan.decisions()) {
    if (decision.kind != DecisionKind::start) continue;
    trial.take(decision.gpus, snapshot.job(decision.job).request);
    started.push_back(decision.job);
  }
  for (const JobIndex index : snapshot.waiting) {
    if (std::find(started.begin(), started.end(), index) != started.end()) continue;
    const JobRequest& request = snapshot.job(index).request;
    if (place(trial.free(), snapshot.servers, request, request.gpus)) return request.id;
  }
  return std::nullopt;
}

class Inspected : public PolicyWrapper {
 public:
  // `continues`: the policy was already active in an earlier instance. Nothing more is seen once `keep_on` returns false.
  Inspected(std::shared_ptr<Policy> policy, Seen& seen, bool continues, const std::function<bool()>& keep_on)
      : PolicyWrapper(std::move(policy)), seen_(seen), continues_(continues), keep_on_(keep_on) {}
  void attach(const Snapshot& snapshot) override {
    if (!continues_) policy_->attach(snapshot);
  }
  void decide(const Snapshot& snapshot, Plan& plan) override {
    const bool has_room = snapshot.free.total() > 0;
    const auto before = std::chrono::steady_clock::now();
    policy_->decide(snapshot, plan);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - before;
    const bool is_measured = snapshot.waiting.size() >= waiting_low && snapshot.waiting.size() <= waiting_high;
    if (is_measured && has_room)  // else there is nothing to decide
      seen_.decision_ms.push_back(took.count());
    if (!seen_.failure) seen_.failure = policy_->failure();
    seen_.deciding += took, ++seen_.decisions;
    if (seen_.failure || seen_.is_too_slow() || seen_.decision_ms.size() >= 200 || !keep_on_()) seen_.enough = true;
    if (!seen_.failure && !seen_.left_waiting) seen_.left_waiting = left_waiting(snapshot, plan);
  }

 private:
  Seen& seen_;
  bool continues_;
  const std::function<bool()>& keep_on_;
};

std::shared_ptr<Policy> make(const PolicyChoice& choice) {
  auto policy = make_policy(choice);
  SL_CHECK(policy.ok(), "a policy that was made once can be made again");
  return std::move(*policy);
}

// No user states how long a job will run, as is usual on a cluster.
bool tells_no_durations(std::uint64_t seed) { return seed % 5 == 0; }

// What happens halfway.
enum class Middle { nothing, asked, restarted };

class Check {
 public:
  Check(const PolicyChoice& choice, const std::function<bool()>& keep_on, PolicyCheck& report)
      : choice_(choice), keep_on_(keep_on), report_(report) {}

  // Of one that is interrupted nothing is said.
  void workload(std::uint64_t seed) {
    auto trace = trace::make_workload(checked_workload(seed), seed, {});
    SL_CHECK(trace.ok(), "the workload of a check can be made");
    Seen seen;
    const sim::SimulationResult first = run(*trace, seed, seen, Middle::nothing);
    if (!keep_on_()) return;
    ++report_.workloads;
    if (seen.failure) return broken("it answers", seen.failure->message, seed);
    if (seen.is_too_slow())
      return broken("it decides in time",
                    fmt::format("{} decisions took {:.0f} s; a cluster waits 50 ms for each", seen.decisions,
                                seen.deciding.count()),
                    seed);
    if (first.unfinished > 0)
      return broken("every job ends",
                    fmt::format("{} of {} jobs were never run to their end{}", first.unfinished, trace->jobs.size(),
                                first.standstill.empty() ? "" : ": " + first.standstill),
                    seed);
    if (first.decisions_refused > 0)
      broken("it asks only for what can be done", fmt::format("{} decisions were refused", first.decisions_refused),
             seed);
    if (claims_work_conserving() && seen.left_waiting)
      broken("no GPU idles that a waiting job could take",
             fmt::format("job {} waits although it fits", seen.left_waiting->value), seed);
    Seen again, asked, restarted;
    const sim::SimulationResult second = run(*trace, seed, again, Middle::nothing);
    if (!keep_on_()) return;
    if (!same(first, second)) return broken("the same seed gives the same schedule", "two runs differ", seed);
    if (!report_.notes.empty()) return;
    const bool keeps_all =
        same(run(*trace, seed, asked, Middle::asked), run(*trace, seed, restarted, Middle::restarted));
    if (!keeps_all && keep_on_())
      report_.notes.push_back(
          {"restarted in the middle it decides the same", "it keeps something that a restart loses", seed});
  }

  void measure() {
    auto trace = trace::make_workload("burst:jobs=2000,burst_jobs=2000", 1, {});
    SL_CHECK(trace.ok(), "the workload of a measurement can be made");
    sim::SimulationSettings settings;
    Seen seen;
    settings.cluster = sim::Cluster::uniform(measured_servers, measured_gpus);
    settings.cancelled = &seen.enough;
    sim::simulate(*trace, std::make_unique<Inspected>(make(choice_), seen, false, keep_on_), settings);
    if (seen.failure) return broken("it answers", seen.failure->message, 1);
    report_.servers = measured_servers;
    report_.waiting = 1000;
    std::vector<double>& ms = seen.decision_ms;
    report_.decisions_measured = ms.size();
    if (ms.empty()) return;
    std::sort(ms.begin(), ms.end());
    report_.decision_ms_p50 = ms[ms.size() / 2];
    report_.decision_ms_p99 = ms[ms.size() * 99 / 100];
  }

 private:
  sim::SimulationResult run(const trace::Trace& trace, std::uint64_t seed, Seen& seen, Middle middle) {
    sim::SimulationSettings settings;
    settings.cluster = sim::Cluster::uniform(4, 4);
    settings.seed = seed;
    settings.knows_durations = !tells_no_durations(seed);
    settings.idle_wakes_most = 10'000;  // a policy that needs more to start a job counts as one that never will
    settings.cancelled = &seen.enough;
    std::vector<sim::PolicySwitch> switches;
    const Duration half = (trace.jobs.back().submitted - trace.jobs.front().submitted) / 2;
    const std::shared_ptr<Policy> policy = make(choice_);
    if (middle != Middle::nothing) {
      auto next = std::make_unique<Inspected>(middle == Middle::asked ? policy : make(choice_), seen,
                                              middle == Middle::asked, keep_on_);
      switches.push_back({trace.jobs.front().submitted + half, choice_.name, std::move(next)});
    }
    return sim::simulate(trace, std::make_unique<Inspected>(policy, seen, false, keep_on_), settings,
                         std::move(switches));
  }
  static bool same(const sim::SimulationResult& a, const sim::SimulationResult& b) {
    return std::equal(a.outcomes.begin(), a.outcomes.end(), b.outcomes.begin(), b.outcomes.end(),
                      [](const sim::Outcome& x, const sim::Outcome& y) {
                        return x.started == y.started && x.finished == y.finished && x.preemptions == y.preemptions;
                      });
  }
  bool claims_work_conserving() const { return choice_.parameters.empty() && entry_of(choice_).info.work_conserving; }
  void broken(const std::string& rule, const std::string& what, std::uint64_t seed) {
    const bool known = std::any_of(report_.broken.begin(), report_.broken.end(),
                                   [&](const BrokenRule& other) { return other.rule == rule; });
    if (!known) report_.broken.push_back({rule, what, seed});
  }

  const PolicyChoice& choice_;
  const std::function<bool()>& keep_on_;
  PolicyCheck& report_;
};

}  // namespace

// Rigid and elastic jobs, with and without estimates and deadlines, under overload and light load.
std::string checked_workload(std::uint64_t seed) {
  return fmt::format(
      "poisson:jobs=40,cluster_gpus=16,weight_8=0,load={},elastic={},profile=amdahl,gpus_max=4,users={},"
      "estimate_error={},deadline_slack={}",
      seed % 3 == 0 ? "0.7" : "2", seed % 2 == 0 ? "0.5" : "0", seed % 4 == 1 ? 0 : 3,
      tells_no_durations(seed) ? "0" : "0.5", seed % 2);
}

std::string checked_options(std::uint64_t seed) {
  return fmt::format("--seed {} --servers 4x4{}", seed, tells_no_durations(seed) ? " --blind" : "");
}

std::string checked_command(std::uint64_t seed, const std::string& policy, const GivenParameters& parameters) {
  std::string command = fmt::format("schedulearn sim run --trace {} {} --policy {}", shell_word(checked_workload(seed)),
                                    checked_options(seed), shell_word(policy));
  for (const auto& [name, value] : parameters) command += " --param " + shell_word(name + "=" + value);
  return command;
}

PolicyCheck check_policy(const PolicyChoice& choice, std::uint64_t seeds, const std::function<bool()>& keep_on) {
  PolicyCheck report;
  Check check(choice, keep_on, report);
  for (std::uint64_t seed = 1; seed <= seeds && keep_on(); ++seed) {
    check.workload(seed);
    const auto is_hopeless = [](const BrokenRule& broken) {
      return broken.rule == "it answers" || broken.rule == "it decides in time";
    };
    if (std::ranges::any_of(report.broken, is_hopeless)) return report;
  }
  if (keep_on()) check.measure();
  return report;
}

}  // namespace sl::study
