#include "policies/preemptive/tiresias.h"

#include <algorithm>

#include "policy/preemptive_policy.h"

namespace sl {

int TiresiasQueues::queue_of(std::int64_t service_gpu_us) const {
  const auto& thresholds = settings_.thresholds_gpu_us;
  return static_cast<int>(std::upper_bound(thresholds.begin(), thresholds.end(), service_gpu_us) - thresholds.begin());
}

std::string TiresiasQueues::standing(const Job& job, Instant now) const {
  return "queue " + std::to_string(queue(job, now) + 1) + " of " +
         std::to_string(settings_.thresholds_gpu_us.size() + 1) + ", " + std::to_string(service(job, now) / 1'000'000) +
         " GPU-seconds of service";
}

Instant TiresiasQueues::falls_at(const Job& job, Instant now, int gpus) const {
  const auto& thresholds = settings_.thresholds_gpu_us;
  const std::int64_t attained = service(job, now);
  const auto next = std::upper_bound(thresholds.begin(), thresholds.end(), attained);
  if (next == thresholds.end()) return Instant::never();
  return now + Duration{(*next - attained + gpus - 1) / gpus};
}

Instant TiresiasQueues::promotion_at(const Job& job, Instant now) const {
  const Duration executed = job.run - job.run_at_promotion;
  if (settings_.promote_knob <= 0 || executed.us <= 0 || queue(job, now) == 0) return Instant::never();
  return job.waiting_since + Duration::seconds(settings_.promote_knob * executed.to_seconds());
}

Spread spread_by_skew(const JobRequest& request, double skew_limit) {
  const JobModel* model = request.model.get();
  const bool is_known = model && model->parameter_bytes && model->largest_tensor_bytes && *model->parameter_bytes > 0;
  if (request.single_server() || !is_known) return Spread::few;
  const double skew = static_cast<double>(*model->largest_tensor_bytes) / static_cast<double>(*model->parameter_bytes);
  return skew > skew_limit ? Spread::fewest : Spread::any;
}

Need skew_or_few_servers() {
  return {Fact::none, "they run on as few servers as are free",
          "the sizes of the model and of its largest tensor, of jobs wider than a server"};
}

ParameterInfo TiresiasQueues::skew_parameter() {
  return {"skew_limit",
          ParameterType::number,
          "",
          "0.4",
          0,
          1,
          {},
          "a model whose largest tensor is more than this fraction of it waits for a place on few servers; others use "
          "fragments"};
}

std::vector<ParameterInfo> TiresiasQueues::parameters() {
  return {
      {"thresholds_gpu_s",
       ParameterType::ascending,
       "GPU-seconds",
       "300,3000,30000,300000",
       1,
       1e12,
       {},
       "service at which a job falls to the next queue: one number for two queues, 3250,7200 for three"},
      {"promote_knob",
       ParameterType::number,
       "times",
       "0",
       0,
       1e6,
       {},
       "a job that has waited this many times its run time goes back to the first queue; 0: never (low values thrash "
       "when the "
       "cluster is overloaded)"},
  };
}

TiresiasSettings TiresiasQueues::settings(const Parameters& given) {
  TiresiasSettings settings;
  for (const double threshold_s : given.numbers("thresholds_gpu_s"))
    settings.thresholds_gpu_us.push_back(Duration::seconds(threshold_s).us);
  settings.promote_knob = given.number("promote_knob");
  return settings;
}

namespace {

class Tiresias : public PreemptivePolicy {
 public:
  Tiresias(const TiresiasSettings& queues, const PreemptionSettings& preemption)
      : PreemptivePolicy(preemption), queues_(queues), skew_limit_(queues.skew_limit) {}

  std::string standing(const View& view, JobIndex job) const override {
    return queues_.standing(view.job(job), view.now);
  }

 protected:
  Rank waiting_rank(const Snapshot& snapshot, const Job& job) override {
    return rank(queues_.queue(job, snapshot.now), job);
  }
  Rank running_rank(const Snapshot& snapshot, const Job& job) override { return waiting_rank(snapshot, job); }
  Spread spread_of(const Job& job) const override { return spread_by_skew(job.request, skew_limit_); }
  Instant next_change(const Snapshot& snapshot, const Job& job, int gpus) override {
    return gpus == 0 ? queues_.promotion_at(job, snapshot.now) : queues_.falls_at(job, snapshot.now, gpus);
  }
  Rank changed(const Snapshot& snapshot, JobIndex job, Plan& plan) override {
    plan.promote(job);
    return rank(0, snapshot.job(job));
  }

 private:
  static Rank rank(int queue, const Job& job) {
    return {.major = queue, .minor = job.first_start.happened() ? job.first_start.us : Rank::last};
  }
  TiresiasQueues queues_;
  double skew_limit_;
};

}  // namespace

PolicyEntry tiresias_entry() {
  PolicyInfo info;
  info.name = "tiresias";
  info.title = "Tiresias (2D-LAS)";
  info.summary =
      "Jobs that have had little GPU time so far go first, in a queue for each decade of it; needs no estimates.";
  info.good_for = "a low mean completion time without run time estimates";
  info.weak_for = "many long jobs of similar length; jobs that are costly to interrupt";
  info.needs = {skew_or_few_servers(), checkpoint_or_left_alone()};
  info.aliases = {"las", "2d_las"};
  info.preemptive = true;
  info.work_conserving = true;
  info.parameters = TiresiasQueues::parameters();
  info.parameters.push_back(TiresiasQueues::skew_parameter());
  for (ParameterInfo& parameter : PreemptivePolicy::parameters(false)) info.parameters.push_back(std::move(parameter));
  return {std::move(info), [](const Parameters& given) -> std::unique_ptr<Policy> {
            TiresiasSettings settings = TiresiasQueues::settings(given);
            settings.skew_limit = given.number("skew_limit");
            return std::make_unique<Tiresias>(settings, PreemptivePolicy::settings(given));
          }};
}

}  // namespace sl
