#include "policies/tiresias.h"

#include <algorithm>

#include "policy/preemptive_policy.h"

namespace sl {

int TiresiasQueues::queue(const Job& job, Instant now) const {
  const auto& thresholds = settings_.thresholds_gpu_us;
  return static_cast<int>(std::upper_bound(thresholds.begin(), thresholds.end(), service(job, now)) -
                          thresholds.begin());
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

std::vector<ParameterInfo> TiresiasQueues::parameters() {
  return {
      {"threshold_gpu_s",
       ParameterType::number,
       "GPU-seconds",
       "3600",
       1,
       1e12,
       {},
       "service at which a job falls to the second queue"},
      {"queues",
       ParameterType::integer,
       "queues",
       "2",
       1,
       16,
       {},
       "number of queues; each threshold is twice the one before"},
      {"promote_knob",
       ParameterType::number,
       "times",
       "0",
       0,
       1e6,
       {},
       "a job that waited this many times its run goes back to the first queue; 0: never (low values thrash when the "
       "cluster is overloaded)"},
  };
}

TiresiasSettings TiresiasQueues::settings(const Parameters& given) {
  TiresiasSettings settings;
  double threshold_s = given.number("threshold_gpu_s");
  for (int queue = 1; queue < given.integer("queues"); ++queue, threshold_s *= 2)
    settings.thresholds_gpu_us.push_back(Duration::seconds(threshold_s).us);
  settings.promote_knob = given.number("promote_knob");
  return settings;
}

namespace {

class Tiresias : public PreemptivePolicy {
 public:
  Tiresias(const TiresiasSettings& queues, const PreemptionSettings& preemption)
      : PreemptivePolicy(preemption), queues_(queues) {}

 protected:
  Rank waiting_rank(const Snapshot& snapshot, const Job& job) override {
    return rank(queues_.queue(job, snapshot.now), job);
  }
  Rank running_rank(const Snapshot& snapshot, const Job& job) override { return waiting_rank(snapshot, job); }
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
};

}  // namespace

PolicyEntry tiresias_entry() {
  PolicyInfo info;
  info.name = "tiresias";
  info.title = "Tiresias (2D-LAS)";
  info.summary =
      "Jobs that have had little GPU time so far go first, in a few queues; needs no estimates. No single threshold is "
      "published: choose one for the workload.";
  info.good_for = "a low mean completion time without run time estimates";
  info.weak_for = "many long jobs of like length; jobs that are costly to interrupt";
  info.needs = {checkpoint_or_left_alone()};
  info.aliases = {"las", "2d_las"};
  info.preemptive = true;
  info.work_conserving = true;
  info.parameters = TiresiasQueues::parameters();
  for (ParameterInfo& parameter : PreemptivePolicy::parameters(false)) info.parameters.push_back(std::move(parameter));
  return {std::move(info), [](const Parameters& given) -> std::unique_ptr<Policy> {
            return std::make_unique<Tiresias>(TiresiasQueues::settings(given), PreemptivePolicy::settings(given));
          }};
}

}  // namespace sl
