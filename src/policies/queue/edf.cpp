#include "policies/queue/edf.h"

#include "policy/deadlines.h"
#include "policy/estimate_policy.h"

namespace sl {
namespace {

enum class LateMode { demote, keep, reject };

struct EdfSettings {
  PreemptionSettings preemption;
  LateMode late_mode = LateMode::demote;
  bool least_slack = false;
  Duration default_estimate;
};

class Edf : public EstimatePolicy {
 public:
  explicit Edf(const EdfSettings& settings)
      : EstimatePolicy(settings.preemption, settings.default_estimate), settings_(settings) {}

  std::string standing(const View& view, JobIndex index) const override {
    return due_text(view, view.job(index)) + "; " + EstimatePolicy::standing(view, index);
  }

 protected:
  Rank waiting_rank(const Snapshot& snapshot, const Job& job) override {
    enum Class { in_time, without_deadline, late };
    const Instant deadline = job.request.deadline;
    if (deadline.is_never()) return {.major = without_deadline};
    const bool demoted = lateness_counts() && late_from(snapshot, job, run_times_) < snapshot.now;
    const Instant by =
        settings_.least_slack ? deadline - run_times_.remaining(snapshot, job, job.request.gpus) : deadline;
    return {.major = demoted ? late : in_time, .minor = by.us};
  }

  // Slack changes with time: running jobs are ranked anew at every decision. A waiting job's rank changes once more, when it
  // becomes late; when that will be changes with a guess.
  bool prepare(const Snapshot& snapshot, Plan& plan) override {
    EstimatePolicy::prepare(snapshot, plan);
    if (settings_.late_mode == LateMode::reject) {
      for (const JobIndex job : snapshot.waiting) {
        if (reject_if_late(snapshot, job, run_times_, plan)) lines_.erase(job);
      }
    }
    return true;
  }
  void rank_waiting_anew(const Snapshot& snapshot) override {
    lateness_counts() && run_times_.has_guessed() ? rekey_all(snapshot) : EstimatePolicy::rank_waiting_anew(snapshot);
  }
  Instant next_change(const Snapshot& snapshot, const Job& job, int gpus) override {
    if (gpus > 0 || !lateness_counts() || run_times_.has_guessed()) return Instant::never();
    if (job.request.deadline.is_never()) return Instant::never();
    const Instant at = late_from(snapshot, job, run_times_) + Duration{1};
    return at > snapshot.now ? at : Instant::never();
  }

  // When the next waiting job becomes late.
  Instant wake_besides(const Snapshot& snapshot) override {
    return lateness_counts() && run_times_.has_guessed() ? next_late(snapshot, run_times_) : Instant::never();
  }

 private:
  bool lateness_counts() const { return settings_.late_mode != LateMode::keep; }

  EdfSettings settings_;
};

EdfSettings settings_of(const Parameters& given) {
  EdfSettings settings;
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
  info.weak_for = "overload; jobs without a deadline wait behind those that can meet theirs";
  info.needs = {{Fact::deadline, "they go last, before those that can no longer meet theirs"}, run_time_or_history(), checkpoint_or_left_alone()};
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
       "jobs that can no longer meet their deadline: behind all others, treated like the others, or rejected"},
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
