#include "policies/edf.h"

#include "policy/estimate_policy.h"

namespace sl {
namespace {

enum class LateMode { demote, keep, reject };

struct Settings {
  PreemptionSettings preemption;
  LateMode late_mode = LateMode::demote;
  bool least_slack = false;
  Duration default_estimate;
};

class Edf : public EstimatePolicy {
 public:
  explicit Edf(const Settings& settings)
      : EstimatePolicy(settings.preemption, settings.default_estimate), settings_(settings) {}

 protected:
  Rank waiting_rank(const Snapshot& snapshot, const Job& job) override {
    enum Class { in_time, without_deadline, late };
    const Instant deadline = job.request.deadline;
    if (deadline.is_never()) return {.major = without_deadline};
    const bool demoted = settings_.late_mode != LateMode::keep && late_from(snapshot, job) < snapshot.now;
    const Instant by =
        settings_.least_slack ? deadline - run_times_.remaining(snapshot, job, job.request.gpus) : deadline;
    return {.major = demoted ? late : in_time, .minor = by.us};
  }

  // Lateness and slack change with time: every job is ranked anew at every decision.
  bool prepare(const Snapshot& snapshot, Plan& plan) override {
    EstimatePolicy::prepare(snapshot, plan);
    if (settings_.late_mode == LateMode::reject) {
      for (const JobIndex job : snapshot.waiting) reject_if_late(snapshot, job, plan);
    }
    return true;
  }

  // When the next waiting job becomes late.
  Instant wake_besides(const Snapshot& snapshot) override {
    Instant next = Instant::never();
    if (settings_.late_mode == LateMode::keep) return next;
    for (const JobIndex index : snapshot.waiting) {
      const Job& job = snapshot.job(index);
      if (job.request.deadline.is_never()) continue;
      const Instant from = late_from(snapshot, job) + Duration{1};
      if (from > snapshot.now) next = std::min(next, from);
    }
    return next;
  }

 private:
  // The last instant at which the job, alone on its maximum of GPUs, would still meet its deadline.
  Instant late_from(const Snapshot& snapshot, const Job& job) {
    return job.request.deadline - run_times_.remaining(snapshot, job, job.request.gpus_max);
  }
  void reject_if_late(const Snapshot& snapshot, JobIndex index, Plan& plan) {
    const Job& job = snapshot.job(index);
    if (job.state != JobState::pending || job.first_start.happened() || job.request.deadline.is_never()) return;
    if (late_from(snapshot, job) >= snapshot.now) return;
    plan.reject(index, {ReasonCode::unsatisfiable});
    lines_.erase(index);
  }

  Settings settings_;
};

Settings settings_of(const Parameters& given) {
  Settings settings;
  settings.preemption = PreemptivePolicy::settings(given);
  settings.preemption.may_preempt = given.boolean("preemption");
  const std::string& mode = given.text("late_mode");
  settings.late_mode = mode == "keep" ? LateMode::keep : mode == "reject" ? LateMode::reject : LateMode::demote;
  settings.least_slack = given.text("order") == "least_slack";
  settings.default_estimate = EstimatePolicy::default_estimate(given);
  return settings;
}

}  // namespace

PolicyEntry edf_entry() {
  PolicyInfo info;
  info.name = "edf";
  info.title = "Earliest Deadline First";
  info.summary = "The job with the earliest deadline that can still be met goes first, others are preempted for it.";
  info.good_for = "jobs with deadlines under moderate load";
  info.weak_for = "overload; jobs without a deadline wait behind all others";
  info.needs = {{Fact::deadline, "they go last"}, run_time_or_history(), checkpoint_or_left_alone()};
  info.aliases = {"earliest_deadline_first"};
  info.preemptive = true;
  info.parameters = {
      {"late_mode",
       ParameterType::choice,
       "",
       "demote",
       0,
       0,
       {"demote", "keep", "reject"},
       "jobs that cannot meet their deadline any more: behind all others, treated like the others, or turned away"},
      {"order",
       ParameterType::choice,
       "",
       "deadline",
       0,
       0,
       {"deadline", "least_slack"},
       "what makes a job urgent: its deadline, or the time it has to spare"},
      {"preemption", ParameterType::boolean, "", "true", 0, 0, {}, "whether running jobs are preempted"},
  };
  for (ParameterInfo& parameter : PreemptivePolicy::parameters(false)) info.parameters.push_back(std::move(parameter));
  info.parameters.push_back(EstimatePolicy::default_estimate_parameter());
  return {std::move(info),
          [](const Parameters& given) -> std::unique_ptr<Policy> { return std::make_unique<Edf>(settings_of(given)); }};
}

}  // namespace sl
