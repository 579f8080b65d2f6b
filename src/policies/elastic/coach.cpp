#include "policies/elastic/coach.h"

#include <algorithm>
#include <cstdio>
#include <set>
#include <tuple>
#include <utility>

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

struct CoachSettings {
  double gpu_price = 0;  // per GPU-second
  bool at_epoch_ends = false;
  Duration epoch_wait_max;
  int probes = 0;  // numbers of GPUs that each training is tried on
};

// The numbers of GPUs on which the training has reported its speed, alone.
std::set<int> measured_on(const Job& job) {
  std::set<int> counts;
  if (!job.telemetry) return counts;
  for (const SpeedSample& sample : job.telemetry->speeds) {
    if (!sample.neighbour.valid()) counts.insert(sample.workers);
  }
  return counts;
}

// How soon a waiting job would have spent its budget if it started now on all the GPUs that it accepts.
struct SpendingKey {
  double seconds = 0;
  JobId id;
  friend bool operator<(const SpendingKey& a, const SpendingKey& b) {
    return std::tie(a.seconds, a.id) < std::tie(b.seconds, b.id);
  }
};

class Coach : public ElasticPolicy {
 public:
  Coach(const ElasticSettings& settings, const CoachSettings& coach)
      : ElasticPolicy(settings), training_(run_times_), coach_(coach) {}

  void attach(const Snapshot& snapshot) override {
    ElasticPolicy::attach(snapshot);
    with_budget_.clear();
    for (const JobIndex job : snapshot.waiting) enter(snapshot, job);
  }

  void notice(const Snapshot& snapshot, NoticeKind kind, JobIndex job) override {
    ElasticPolicy::notice(snapshot, kind, job);
    if (kind == NoticeKind::waiting) enter(snapshot, job);
    if (kind == NoticeKind::active || kind == NoticeKind::ended) with_budget_.erase(job);
  }

 protected:
  Rank rank_of(const Snapshot&, const Job&) override { return {}; }

  void prepare(const Snapshot& snapshot, Plan& plan) override {
    const SpendingWalk first(with_budget_);
    if (!first.done() && first.key().seconds <= 0) reject_spent(snapshot, plan);
    for (const JobIndex index : snapshot.active) {
      const Job& job = snapshot.job(index);
      if (job.state == JobState::running && job.request.preemptible &&
          job.request.capability == Capability::checkpoint && budget_left(snapshot, job) <= 0)
        plan.preempt(index);
    }
  }

  int gpus_in_order(const Snapshot& snapshot, const Share& share, int left) const override {
    return is_spent(snapshot, share.job) ? share.has : ElasticPolicy::gpus_in_order(snapshot, share, left);
  }

  void divide(const Snapshot& snapshot, std::vector<Share>& shares, Supply supply) override {
    serve_in_order(snapshot, shares, supply);
    if (supply.total() <= 0) return;
    std::vector<Trainee> trainees;
    std::vector<Share*> growing;
    for (Share& share : shares) {
      if (share.gpus == 0 || share.gpus == share.most || is_spent(snapshot, share.job)) continue;
      growing.push_back(&share);
      trainees.push_back(trainee(snapshot, share));
    }
    for (std::size_t i = 0; i < growing.size(); ++i) {
      const int probe = growing[i]->has > 0 ? next_probe(snapshot, growing[i]->job) : 0;
      const int more = probe - growing[i]->least;
      if (probe == 0 || probe > growing[i]->most || more > supply.left_for(*growing[i])) continue;
      supply.give(*growing[i], more);
      trainees[i].workers = trainees[i].workers_max = probe;
    }
    share_by_marginal_gain(
        trainees, [&](std::size_t i, double) { return supply.give_one(*growing[i]); }, false, false);
  }

  bool ranks_change(const Snapshot&) const override { return false; }
  bool may_change(const Snapshot& snapshot, const Job& job) const override {
    if (!waits_for_epoch(job) || next_probe(snapshot, job) > 0) return true;
    const Duration passed = snapshot.now - job.telemetry->epoch_ended;
    return passed <= epoch_end_lasts || passed >= coach_.epoch_wait_max;
  }

  bool worth_resizing(const Snapshot& snapshot, JobIndex index, int gpus) override {
    return next_probe(snapshot, index) == gpus || ElasticPolicy::worth_resizing(snapshot, index, gpus);
  }

  // The time when the next job will have spent its budget, or need not wait for the end of its epoch any longer.
  Instant wake_besides(const Snapshot& snapshot) override {
    Instant next = Instant::never();
    for (const JobIndex index : snapshot.active) {
      const Job& job = snapshot.job(index);
      const Instant latest = waits_for_epoch(job) ? job.telemetry->epoch_ended + coach_.epoch_wait_max : next;
      if (job.request.is_elastic() && latest > snapshot.now) next = std::min(next, latest);
    }
    const auto consider = [&](double seconds) {
      if (seconds > 0 && seconds < 1e9) next = std::min(next, snapshot.now + Duration::seconds(seconds) + Duration{1});
    };
    for (const JobIndex index : snapshot.active) {
      const Job& job = snapshot.job(index);
      // A job that is about to run may run on all the GPUs it accepts.
      consider(
          spent_in_s(snapshot, job, job.state == JobState::running ? job.allocation.count() : job.request.gpus_max));
    }
    SpendingWalk walk(with_budget_);
    while (!walk.done() && walk.key().seconds <= 0) walk.next();
    if (!walk.done()) consider(walk.key().seconds);
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
  using SpendingWalk = WaitingLines<SpendingKey>::Walk;
  static constexpr double unlimited = std::numeric_limits<double>::infinity();

  void enter(const Snapshot& snapshot, JobIndex index) {
    const Job& job = snapshot.job(index);
    if (budget_left(snapshot, job) == unlimited) return;
    with_budget_.insert_into(0, index, {spent_in_s(snapshot, job, job.request.gpus_max), job.request.id});
  }
  // How long what is left of its budget lasts on that many GPUs.
  double spent_in_s(const View& view, const Job& job, int gpus) const {
    const double left = budget_left(view, job);
    return left <= 0 ? 0 : coach_.gpu_price <= 0 ? unlimited : left / coach_.gpu_price / gpus;
  }

  void reject_spent(const Snapshot& snapshot, Plan& plan) {
    for (const JobIndex index : snapshot.waiting) {
      if (snapshot.job(index).state != JobState::pending || !is_spent(snapshot, index)) continue;
      plan.reject(index, ReasonCode::quota);
      lines_.erase(index);
    }
  }

  double budget_left(const View& view, const Job& job) const {
    if (!job.request.model || !job.request.model->budget) return unlimited;
    return *job.request.model->budget - coach_.gpu_price * static_cast<double>(job.attained_at(view.now)) * 1e-6;
  }

  // It is being stopped, or suspended and must wait.
  bool is_spent(const Snapshot& snapshot, JobIndex job) const { return budget_left(snapshot, snapshot.job(job)) <= 0; }

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
      cost.push_back(coach_.gpu_price * g * work_s / speedup);
    }
    const auto at = [least = share.least](int workers) { return static_cast<std::size_t>(workers - least); };
    made.value = [progress = std::move(progress), at](int workers, int) { return progress[at(workers)]; };
    made.is_affordable = [cost = std::move(cost), at, left](int workers, int) { return cost[at(workers)] <= left; };
    return made;
  }

  // Its epochs end in reports, and the last one ended at a known time.
  bool waits_for_epoch(const Job& job) const {
    return coach_.at_epoch_ends && job.state == JobState::running && job.telemetry &&
           job.telemetry->epoch_ended.happened();
  }

  // The number of GPUs that a running training is to be tried on next, perhaps the one it has; 0: none.
  int next_probe(const Snapshot& snapshot, JobIndex index) const { return next_probe(snapshot, snapshot.job(index)); }
  int next_probe(const Snapshot& snapshot, const Job& job) const {
    const int least = job.request.gpus_min, most = std::min(job.request.gpus_max, least + gpus_beyond(snapshot, job));
    const int probes = std::min(coach_.probes, most - least + 1);
    if (probes < 2 || job.state != JobState::running || snapshot.estimates.speed_curve(job).is_measured()) return 0;
    const std::set<int> measured = measured_on(job);
    if (std::cmp_greater_equal(measured.size(), probes)) return 0;
    if (!measured.contains(job.allocation.count())) return job.allocation.count();
    for (int i = 0; i < probes; ++i) {
      const int gpus = allowed_gpus(job.request, least + (most - least) * i / (probes - 1));
      if (gpus > job.allocation.count() && !measured.contains(gpus)) return gpus;
    }
    return 0;
  }

  // How many more GPUs than its minimum the largest server, or several, could give it.
  static int gpus_beyond(const Snapshot& snapshot, const Job& job) {
    const double room = static_cast<double>(snapshot.free.gpus_per_server_max()) * job.request.servers_max;
    return static_cast<int>(std::clamp(room - job.request.gpus_min, 0.0, 1e6));
  }

  static constexpr Duration epoch_end_lasts = Duration::whole_seconds(1);

  TrainingEstimates training_;
  CoachSettings coach_;
  WaitingLines<SpendingKey> with_budget_;  // of the waiting jobs, all in one line
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
  info.parameters.push_back({"at_epoch_ends",
                             ParameterType::boolean,
                             "",
                             "false",
                             0,
                             0,
                             {},
                             "whether trainings that report epochs are resized only when one has ended"});
  info.parameters.push_back({"epoch_wait_max_s",
                             ParameterType::number,
                             "s",
                             "600",
                             0,
                             1e6,
                             {},
                             "a training whose last epoch ended longer ago is resized all the same"});
  info.parameters.push_back({"probes",
                             ParameterType::integer,
                             "",
                             "0",
                             0,
                             16,
                             {},
                             "numbers of GPUs on which a training of unknown speed is tried first; 0 or 1: none"});
  return {std::move(info), [](const Parameters& given) -> std::unique_ptr<Policy> {
            const CoachSettings coach{given.number("gpu_price"), given.boolean("at_epoch_ends"),
                                      Duration::seconds(given.number("epoch_wait_max_s")),
                                      static_cast<int>(given.number("probes"))};
            return std::make_unique<Coach>(ElasticPolicy::settings(given), coach);
          }};
}

}  // namespace sl
