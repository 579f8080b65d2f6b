#include "policies/elastic/optimus.h"

#include "policy/elastic_policy.h"
#include "policy/marginal_gain.h"
#include "policy/training_estimates.h"

namespace sl {
namespace {

class Optimus : public ElasticPolicy {
 public:
  explicit Optimus(const ElasticSettings& settings) : ElasticPolicy(settings), training_(run_times_) {}

 protected:
  Rank rank_of(const Snapshot&, const Job&) override { return {}; }

  void divide(const Snapshot& snapshot, std::vector<Share>& shares, Supply supply) override {
    serve_in_order(snapshot, shares, supply);
    if (supply.total() <= 0) return;
    std::vector<Trainee> trainees;
    std::vector<Share*> growing;
    for (Share& share : shares) {
      if (share.gpus == 0 || share.gpus == share.most) continue;
      growing.push_back(&share);
      trainees.push_back(trainee(snapshot, share));
    }
    share_by_marginal_gain(
        trainees, [&](std::size_t i, double) { return supply.give_one(*growing[i]); }, true, true);
  }

  bool ranks_change(const Snapshot&) const override { return false; }
  bool may_spread() const override { return false; }
  Duration time_left(const Snapshot& snapshot, JobIndex job) override { return training_.time_left(snapshot, job); }
  double speedup_on(const Snapshot& snapshot, JobIndex job, int gpus) override {
    return training_.speedup(snapshot, job, gpus);
  }
  std::string prospects(const View& view, JobIndex job, int gpus) const override {
    return TrainingEstimates::standing(view, job, gpus, run_times_);
  }

 private:
  Trainee trainee(const Snapshot& snapshot, const Share& share) {
    Trainee made;
    made.workers = share.least;
    made.workers_max = share.most;
    const double work_s =
        training_.remaining_serial_s(snapshot, share.job) * (training_.is_early(snapshot, share.job) ? 0.95 : 1);
    std::vector<double> time;  // from `least` on
    for (int g = share.least; g <= share.most; ++g) time.push_back(work_s / training_.speedup(snapshot, share.job, g));
    made.value = [time = std::move(time), least = share.least](int workers, int) {
      return -time[static_cast<std::size_t>(workers - least)];
    };
    return made;
  }

  TrainingEstimates training_;
};

}  // namespace

PolicyEntry optimus_entry() {
  PolicyInfo info;
  info.name = "optimus";
  info.title = "Optimus";
  info.summary =
      "Each GPU goes to the training whose remaining time it shortens most, by curves fitted to losses and speeds.";
  info.good_for = "trainings that report loss and speed and can change size";
  info.weak_for = "noisy losses; jobs that report nothing";
  info.needs = {{Fact::target_loss, "their remaining time comes from estimates or from finished jobs like them"},
                {Fact::speedup,
                 "a model is fitted to the speeds jobs report; until then they get no more GPUs than they ask for"},
                resizable_or_rigid()};
  info.preemptive = true;
  info.elastic = true;
  info.parameters = ElasticPolicy::parameters();
  for (ParameterInfo& parameter : info.parameters) {
    if (parameter.name == "resize_min_run_s") parameter.default_value = "600";
  }
  return {std::move(info), [](const Parameters& given) -> std::unique_ptr<Policy> {
            return std::make_unique<Optimus>(ElasticPolicy::settings(given));
          }};
}

}  // namespace sl
