#include "policies/optimus.h"

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

  void divide(const Snapshot& snapshot, std::vector<Share>& shares, int gpus) override {
    std::vector<Trainee> trainees;
    std::vector<Share*> admitted;
    for (Share& share : shares) {
      if (share.least > gpus) continue;
      gpus -= share.least;
      admitted.push_back(&share);
      trainees.push_back(trainee(snapshot, share));
    }
    share_by_marginal_gain(trainees, gpus, true, true);
    for (std::size_t i = 0; i < admitted.size(); ++i) admitted[i]->gpus = trainees[i].workers;
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
      "Each GPU goes to the training whose remaining time it shortens most, by curves fitted to losses and speeds. "
      "That estimates from fewer than five epochs count less is from memory of the paper, with low confidence.";
  info.good_for = "trainings that report loss and speed and can change size";
  info.weak_for = "noisy losses; jobs that report nothing";
  info.needs = {{Fact::target_loss, "run time estimates or finished jobs like them tell what is left"},
                {Fact::speedup, "speeds the job reports are fitted; before those, nothing beyond what it asks for"},
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
