#include "policies/elastic/coach.h"

#include <algorithm>
#include <cstdio>

#include "policy/elastic_policy.h"
#include "policy/marginal_gain.h"
#include "policy/training_estimates.h"

namespace sl {
namespace {

std::string amount_text(double amount) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", amount);
  return text;
}

class Coach : public ElasticPolicy {
 public:
  Coach(const ElasticSettings& settings, double gpu_price)
      : ElasticPolicy(settings), training_(run_times_), gpu_price_(gpu_price) {}

 protected:
  Rank rank_of(const Snapshot&, const Job&) override { return {}; }

  void prepare(const Snapshot& snapshot, Plan& plan) override {
    for (const JobIndex index : snapshot.waiting) {
      const Job& job = snapshot.job(index);
      if (job.state != JobState::pending || budget_left(snapshot, job) > 0) continue;
      plan.reject(index, ReasonCode::quota);
      lines_.erase(index);
    }
    for (const JobIndex index : snapshot.active) {
      const Job& job = snapshot.job(index);
      if (job.state == JobState::running && job.request.preemptible &&
          job.request.capability == Capability::checkpoint && budget_left(snapshot, job) <= 0)
        plan.preempt(index);
    }
  }

  void divide(const Snapshot& snapshot, std::vector<Share>& shares, int gpus) override {
    std::vector<Trainee> trainees;
    std::vector<Share*> admitted;
    for (Share& share : shares) {
      if (budget_left(snapshot, snapshot.job(share.job)) <= 0) {  // already being stopped, or suspended and must wait
        share.gpus = share.has;
        gpus -= share.has;
        continue;
      }
      if (share.least > gpus) continue;
      gpus -= share.least;
      admitted.push_back(&share);
      trainees.push_back(trainee(snapshot, share));
    }
    share_by_marginal_gain(trainees, gpus, false, false);
    for (std::size_t i = 0; i < admitted.size(); ++i) admitted[i]->gpus = trainees[i].workers;
  }

  // The time when the next job will have spent its budget.
  Instant wake_besides(const Snapshot& snapshot) override {
    Instant next = Instant::never();
    const auto consider = [&](JobIndex index) {
      const Job& job = snapshot.job(index);
      const double left = budget_left(snapshot, job);
      if (left == unlimited || left <= 0 || gpu_price_ <= 0) return;
      // A job that is about to run may run on all the GPUs it accepts.
      const int gpus = job.state == JobState::running ? job.allocation.count() : job.request.gpus_max;
      const double seconds = left / gpu_price_ / gpus;
      if (seconds < 1e9) next = std::min(next, snapshot.now + Duration::seconds(seconds) + Duration{1});
    };
    for (const JobIndex index : snapshot.active) consider(index);
    for (const JobIndex index : snapshot.waiting) consider(index);
    return next;
  }

  bool may_spread() const override { return false; }
  Duration time_left(const Snapshot& snapshot, JobIndex job) override { return training_.time_left(snapshot, job); }
  double speedup_on(const Snapshot& snapshot, JobIndex job, int gpus) override {
    return training_.speedup(snapshot, job, gpus);
  }
  std::string prospects(const View& view, JobIndex index, int gpus) const override {
    const std::string training = TrainingEstimates::standing(view, index, gpus, run_times_);
    const double left = budget_left(view, view.job(index));
    if (left == unlimited) return training;
    return training + "; " + amount_text(std::max(0.0, left)) + " of its budget of " +
           amount_text(*view.job(index).request.model->budget) + " left";
  }

 private:
  static constexpr double unlimited = std::numeric_limits<double>::infinity();

  double budget_left(const View& view, const Job& job) const {
    if (!job.request.model || !job.request.model->budget) return unlimited;
    return *job.request.model->budget - gpu_price_ * static_cast<double>(job.attained_at(view.now)) * 1e-6;
  }

  Trainee trainee(const Snapshot& snapshot, const Share& share) {
    Trainee made;
    made.workers = share.least;
    made.workers_max = share.most;
    const double work_s = std::max(1e-3, training_.remaining_serial_s(snapshot, share.job));
    const bool met_target = training_.has_met_target(snapshot, share.job);
    const double left = budget_left(snapshot, snapshot.job(share.job));
    std::vector<double> progress, cost;
    for (int g = share.least; g <= share.most; ++g) {
      const double speedup = training_.speedup(snapshot, share.job, g);
      progress.push_back(met_target ? 0 : training_.progress_per_s(snapshot, share.job, g));
      cost.push_back(gpu_price_ * g * work_s / speedup);
    }
    const auto at = [least = share.least](int workers) { return static_cast<std::size_t>(workers - least); };
    made.value = [progress = std::move(progress), at](int workers, int) { return progress[at(workers)]; };
    made.is_affordable = [cost = std::move(cost), at, left](int workers, int) { return cost[at(workers)] <= left; };
    return made;
  }

  TrainingEstimates training_;
  double gpu_price_;
};

}  // namespace

PolicyEntry coach_entry() {
  PolicyInfo info;
  info.name = "coach";
  info.title = "Coach";
  info.summary = "Each GPU goes to the training whose progress it speeds up most, as long as the job's budget allows.";
  info.good_for = "trainings that report speeds and may cost only so much";
  info.weak_for = "speeds measured on few numbers of GPUs";
  info.needs = {{Fact::speedup,
                 "a model is fitted to the speeds jobs report; until then they get no more GPUs than they ask for"},
                {Fact::none, "run times measure progress", "the number of steps"},
                {Fact::budget, "their cost is not limited"},
                resizable_or_rigid()};
  info.preemptive = true;
  info.elastic = true;
  info.parameters = ElasticPolicy::parameters();
  info.parameters.push_back({"gpu_price",
                             ParameterType::number,
                             "cost per GPU-second",
                             "0.01",
                             0,
                             1e6,
                             {},
                             "what a GPU costs a job's budget"});
  return {std::move(info), [](const Parameters& given) -> std::unique_ptr<Policy> {
            return std::make_unique<Coach>(ElasticPolicy::settings(given), given.number("gpu_price"));
          }};
}

}  // namespace sl
