// Base of policies that order jobs by run times, known or guessed from history.
#pragma once

#include "policy/guessed_jobs.h"
#include "policy/preemptive_policy.h"

namespace sl {

class EstimatePolicy : public PreemptivePolicy {
 public:
  EstimatePolicy(const PreemptionSettings& settings, Duration default_estimate)
      : PreemptivePolicy(settings), run_times_(default_estimate) {}

  // For the policy's list of parameters.
  static ParameterInfo default_estimate_parameter() {
    return {"default_est_s",
            ParameterType::number,
            "s",
            "300",
            1,
            1e9,
            {},
            "run time assumed for a job without an estimate if nothing like it has finished"};
  }
  static Duration default_estimate(const Parameters& given) { return Duration::seconds(given.number("default_est_s")); }

  void notice(const Snapshot& snapshot, NoticeKind kind, JobIndex job) override {
    guessed_.notice(snapshot, kind, job);
    PreemptivePolicy::notice(snapshot, kind, job);
  }

  std::string standing(const View& view, JobIndex index) const override {
    const Job& job = view.job(index);
    return run_times_.standing(view, job, job.allocation.empty() ? job.request.gpus : job.allocation.count());
  }

 protected:
  void before_attach(const Snapshot& snapshot) override {
    run_times_.reset();
    guessed_.attach(snapshot);
  }
  bool prepare(const Snapshot& snapshot, Plan&) override {
    return !snapshot.estimates.steady() || run_times_.has_guessed();
  }
  // What is known of a waiting job changes only with its request.
  void rank_waiting_anew(const Snapshot& snapshot) override {
    if (run_times_.has_guessed()) rekey(snapshot, guessed_.changed(snapshot, run_times_));
  }
  Rank running_rank(const Snapshot& snapshot, const Job& job) override { return waiting_rank(snapshot, job); }

  RunTimes run_times_;

 private:
  GuessedJobs guessed_;
};

// Entry of a policy that preempts for the jobs with the least left; `info` names and describes it. `ages_evenly`: what is
// left of any two running jobs falls equally fast.
template <typename Shortest>
PolicyEntry shortest_remaining_entry(PolicyInfo info, bool ages_evenly) {
  info.needs = {run_time_or_history(), checkpoint_or_left_alone()};
  info.preemptive = true;
  info.work_conserving = true;
  info.parameters = PreemptivePolicy::parameters(true);
  info.parameters.push_back(EstimatePolicy::default_estimate_parameter());
  return {std::move(info), [ages_evenly](const Parameters& given) -> std::unique_ptr<Policy> {
            PreemptionSettings settings = PreemptivePolicy::settings(given, true);
            settings.ages_evenly = ages_evenly;
            return std::make_unique<Shortest>(settings, EstimatePolicy::default_estimate(given));
          }};
}

}  // namespace sl
