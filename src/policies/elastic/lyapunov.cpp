#include "policies/elastic/lyapunov.h"

#include <algorithm>
#include <numeric>

#include "policies/elastic/lyapunov_backlog.h"
#include "policy/placer.h"
#include "policy/queue_policy.h"
#include "policy/rank.h"

namespace sl {
namespace {

constexpr double above_rounding = 1 + 1e-9;

struct LyapunovPolicySettings {
  double v = 5;
  Duration slot = Duration::whole_seconds(10);
  Duration tau;       // 0: the mean length of the latest jobs
  Duration max_wait;  // 0: none
  bool absolute = false;
  bool ring = true;
  Duration default_estimate = Duration::whole_seconds(300);
};

class Lyapunov : public QueuePolicy<RankKey> {
 public:
  explicit Lyapunov(const LyapunovPolicySettings& settings) : settings_(settings), backlog_(settings.absolute) {}

  void attach(const Snapshot& snapshot) override {
    QueuePolicy::attach(snapshot);
    learn(snapshot);
  }

  void notice(const Snapshot& snapshot, NoticeKind kind, JobIndex job) override {
    QueuePolicy::notice(snapshot, kind, job);
    if (!lines_.contains(job)) backlog_.erase(job);
    if (kind == NoticeKind::waiting) admit(snapshot, job);
    if (kind == NoticeKind::active || kind == NoticeKind::edited) count(snapshot, job);
    if (kind == NoticeKind::ended) forget(job);
  }

  void decide(const Snapshot& snapshot, Plan& plan) override {
    if (!any_fits(snapshot)) return;  // then it does not matter what the other jobs are worth
    if (snapshot.free.generation() != generation_) learn(snapshot);
    for (const JobIndex job : started_) {
      if (lines_.contains(job) && !backlog_.contains(job)) admit(snapshot, job);  // its start was refused
    }
    started_.clear();
    tau_s_ = reference_time_s(snapshot);
    scaled_ = {settings_.v, settings_.slot.to_seconds() / tau_s_, settings_.absolute};
    slot_ = slot_begin(snapshot.now);
    Trial trial(snapshot.free);
    // What the placer refused may help other jobs, whose worth was compared with it.
    while (trial.free().total() > 0 && backlog_.size() > 0 && start_some(snapshot, trial, plan)) continue;
    if (backlog_.size() > 0 && time_may_help(trial.free().total())) plan.wake_at(Instant{slot_.us + settings_.slot.us});
  }

 protected:
  RankKey key_of(const Snapshot&, const Job& job) override { return RankKey::of({}, job); }
  int gpus_of(const Job& job) const override { return job.request.gpus_min; }

 private:
  // ---- what is kept between decisions: lengths and times of jobs, which their requests and the servers determine ----

  void learn(const Snapshot& snapshot) {
    generation_ = snapshot.free.generation();
    backlog_.clear();
    lengths_ = {};
    length_of_.clear();
    jobs_counted_ = 0;
    bandwidths(snapshot);
    for (const JobIndex job : snapshot.active) count(snapshot, job);
    for (const JobIndex job : snapshot.waiting) admit(snapshot, job);
  }

  void admit(const Snapshot& snapshot, JobIndex job) {
    count(snapshot, job);
    backlog_.insert(job, snapshot.job(job), lines_.shape_of(job), describe(snapshot, snapshot.job(job)));
  }

  // The job's length counts for tau.
  void count(const Snapshot& snapshot, JobIndex job) {
    forget(job);
    if (!length_of_.contains(job)) length_of_.resize(job.value + 1);
    length_of_[job] = run_time(snapshot, snapshot.job(job), 1);
    lengths_.add(*length_of_[job]);
    ++jobs_counted_;
  }

  void forget(JobIndex job) {
    if (!length_of_.contains(job) || !length_of_[job]) return;
    lengths_.remove(*length_of_[job]);
    length_of_[job].reset();
    --jobs_counted_;
  }

  bool any_fits(const Snapshot& snapshot) const {
    for (Walk walk(lines_); !walk.done(); walk.close_line()) {
      const JobRequest& request = snapshot.job(walk.job()).request;
      if (place(snapshot.free, snapshot.servers, request, request.gpus_min)) return true;
    }
    return false;
  }

  // Whether time can make a start worth it. A job whose start is already worth it waits for room, which time does not
  // make.
  bool time_may_help(int gpus) const {
    if (every_start_is_worth_it()) return false;
    return std::any_of(jobs_.begin(), jobs_.end(), [&](const LyapunovJob& job) {
      if (job.least > gpus) return false;
      if (settings_.max_wait.us > 0) return true;
      const ByGpus worth = lyapunov_worth(job, q_, z_, scaled_);
      return std::any_of(worth.begin(), worth.end(), [](double w) { return w <= 0; });
    });
  }

  // Then only the jobs whose starts are worth most count: under load, when looking at all would take long.
  bool every_start_is_worth_it() const {
    return settings_.max_wait.us == 0 && q_ > settings_.v * backlog_.penalty_most() * above_rounding;
  }

  static int most(const LyapunovJob& job) { return job.least + static_cast<int>(job.time.size()) - 1; }

  // Time counts in whole slots: within a slot nothing changes by itself.
  Instant slot_begin(Instant now) const {
    const std::int64_t rest = now.us % settings_.slot.us;
    return Instant{now.us - (rest < 0 ? rest + settings_.slot.us : rest)};
  }
  double waited_s(Instant since) const { return std::max(Duration{}, slot_ - since).to_seconds(); }

  // Returns whether any job started; those that did have left the backlog.
  bool start_some(const Snapshot& snapshot, Trial& trial, Plan& plan) {
    gather(snapshot, trial.free());
    const std::vector<int> chosen = lyapunov_choice(jobs_, q_, z_, trial.free().total(), scaled_);
    std::vector<std::size_t> widest_first(jobs_.size());
    std::iota(widest_first.begin(), widest_first.end(), std::size_t{0});
    std::stable_sort(widest_first.begin(), widest_first.end(),
                     [&](std::size_t a, std::size_t b) { return chosen[a] > chosen[b]; });
    bool any = false;
    for (const std::size_t i : widest_first) {
      if (trial.free().total() == 0) break;
      const double limit_s = settings_.max_wait.to_seconds();
      const bool overdue = limit_s > 0 && waited_s(backlog_.since(index_[i])) >= limit_s;
      const int from = overdue ? most(jobs_[i]) : chosen[i];
      if (from == 0 || !start(snapshot, i, from, overdue, trial, plan)) continue;
      any = true;
      backlog_.erase(index_[i]);
      started_.push_back(index_[i]);
    }
    return any;
  }

  // The jobs among which to choose, oldest first, and the sums over all that wait.
  void gather(const Snapshot& snapshot, const FreeGpus& free) {
    q_ = backlog_.lengths_s() / tau_s_;
    z_ = backlog_.waited_s(slot_) / tau_s_;
    index_.clear();
    rooms_.clear();
    for (const LyapunovBacklog::Group& group : backlog_.groups())
      rooms_.push_back(group.empty() ? 0 : room(snapshot, free, group));
    if (every_start_is_worth_it()) {
      find_best(snapshot, free.total());
    } else {
      for (Walk walk(lines_); !walk.done(); walk.next()) {
        if (backlog_.contains(walk.job())) index_.push_back(walk.job());
      }
    }
    jobs_.clear();
    for (const JobIndex job : index_) jobs_.push_back(scaled(job));
  }

  void find_best(const Snapshot& snapshot, int gpus) {
    for (std::size_t g = 0; g < rooms_.size(); ++g) {
      const LyapunovBacklog::Group& group = backlog_.groups()[g];
      for (int n = group.least; n <= rooms_[g]; ++n) {
        const auto worth = [&](JobIndex job) {
          return lyapunov_worth(scaled(job), q_, z_, scaled_)[static_cast<std::size_t>(n - group.least)];
        };
        const auto worth_at_most = [&](double length_s, Instant since) {
          return q_ * (length_s / tau_s_) + z_ * (waited_s(since) / tau_s_ + scaled_.slot);
        };
        backlog_.find_best(group, static_cast<std::size_t>(gpus), worth, worth_at_most, index_);
      }
    }
    std::sort(index_.begin(), index_.end(),
              [&](JobIndex a, JobIndex b) { return submitted_before(snapshot.job(a), snapshot.job(b)); });
    index_.erase(std::unique(index_.begin(), index_.end()), index_.end());
  }

  // In units of tau.
  LyapunovJob scaled(JobIndex index) const {
    LyapunovJob job = backlog_.figures(index);
    job.length /= tau_s_;
    job.waited = waited_s(backlog_.since(index)) / tau_s_;
    for (double& time : job.time) time /= tau_s_;
    job.room = rooms_[backlog_.group_of(index)];
    return job;
  }

  // Tau: the mean length of the latest 1,000 jobs, current and finished. It hardly changes from one decision to the
  // next, so what starts are worth does not jump when a job arrives or ends.
  double reference_time_s(const Snapshot& snapshot) const {
    constexpr std::size_t jobs_max = 1000;
    if (settings_.tau.us > 0) return settings_.tau.to_seconds();
    double sum_s = lengths_.value();
    std::size_t jobs = jobs_counted_;
    for (auto job = snapshot.history.rbegin(); job != snapshot.history.rend() && jobs < jobs_max; ++job, ++jobs)
      sum_s += job->serial_s;
    return std::max(1e-3, sum_s / static_cast<double>(std::max<std::size_t>(1, jobs)));
  }

  // The largest number of GPUs for which there is room.
  static int room(const Snapshot& snapshot, const FreeGpus& free, const LyapunovBacklog::Group& group) {
    int gpus = std::min(group.most, free.total());
    const JobRequest& request = snapshot.job(group.any()).request;
    while (gpus > 0 && !place(free, snapshot.servers, request, gpus)) --gpus;
    return gpus;
  }

  // The bandwidths of the slowest server, since the placement is not known yet.
  void bandwidths(const Snapshot& snapshot) {
    inside_ = network_ = 0;
    const auto lower = [](double& kept, const std::optional<double>& found) {
      if (found && *found > 0 && (kept == 0 || *found < kept)) kept = *found;
    };
    for (const Server& server : snapshot.servers) {
      lower(inside_, server.description.bandwidth_inside_bytes_per_s);
      lower(network_, server.description.bandwidth_network_bytes_per_s);
    }
  }

  LyapunovJob describe(const Snapshot& snapshot, const Job& job) const {
    const JobRequest& request = job.request;
    LyapunovJob made;
    made.least = request.gpus_min;
    const double room = static_cast<double>(snapshot.free.gpus_per_server_max()) * request.servers_max;
    const int most = room < request.gpus_max ? std::max(made.least, static_cast<int>(room)) : request.gpus_max;
    made.length = run_time(snapshot, job, 1);
    for (int g = made.least; g <= most; ++g) {
      const int used = allowed_gpus(request, g);
      made.time.push_back(used == 1 ? made.length : run_time(snapshot, job, used));
    }
    return made;
  }

  double run_time(const Snapshot& snapshot, const Job& job, int gpus) const {
    const JobModel* model = job.request.model.get();
    if (model && model->steps_total && model->batch_size && model->step_time_per_sample_s)
      return by_steps(*model, snapshot, gpus);
    const Figure known = snapshot.estimates.run_time_s(job, gpus);
    if (known.known()) return known.value;
    return settings_.default_estimate.to_seconds() /
           snapshot.estimates.speed_curve(job).speed_on(gpus, job.request.gpus);
  }

  double by_steps(const JobModel& model, const Snapshot& snapshot, int gpus) const {
    const auto steps = static_cast<double>(*model.steps_total);
    const double batch = static_cast<double>(*model.batch_size) / gpus;
    const double computing = steps * (model.step_time_fixed_s.value_or(0) + *model.step_time_per_sample_s * batch);
    const double bandwidth = gpus <= snapshot.free.gpus_per_server_max() ? inside_ : network_;
    if (gpus == 1 || bandwidth <= 0 || !model.parameter_bytes) return computing;
    const double rounds = settings_.ring ? 2.0 * (gpus - 1) / gpus : 1.0;
    return computing + steps * rounds * static_cast<double>(*model.parameter_bytes) / bandwidth;
  }

  // Starts the job on at most `from` GPUs, as long as that is worth it.
  bool start(const Snapshot& snapshot, std::size_t i, int from, bool at_any_price, Trial& trial, Plan& plan) const {
    const JobRequest& request = snapshot.job(index_[i]).request;
    const ByGpus worth = lyapunov_worth(jobs_[i], q_, z_, scaled_);
    for (int g = allowed_gpus(request, std::min(from, trial.free().total())); g >= jobs_[i].least;
         g = allowed_gpus(request, g - 1)) {
      if (!at_any_price && worth[static_cast<std::size_t>(g - jobs_[i].least)] <= 0) continue;
      auto gpus = place(trial.free(), snapshot.servers, snapshot.job(index_[i]), g);
      if (!gpus) continue;
      trial.take(*gpus, request);
      plan.start(index_[i], std::move(*gpus));
      return true;
    }
    return false;
  }

  LyapunovPolicySettings settings_;
  LyapunovBacklog backlog_;                                   // jobs that wait and are not in started_
  IndexedVector<JobIndex, std::optional<double>> length_of_;  // seconds; of all unfinished jobs
  ExactSeconds lengths_;                                      // their sum
  std::size_t jobs_counted_ = 0;                              // in it
  std::uint64_t generation_ = 0;                              // of the servers, when that was worked out
  double inside_ = 0, network_ = 0;                           // bytes per second; 0: unknown
  std::vector<JobIndex> started_;                             // by the latest plan

  // ---- of the decision ----
  Instant slot_;
  double tau_s_ = 1;
  LyapunovSettings scaled_;
  double q_ = 0, z_ = 0;           // sums over the waiting jobs
  std::vector<int> rooms_;         // by group of the backlog
  std::vector<JobIndex> index_;    // among which to choose, oldest first
  std::vector<LyapunovJob> jobs_;  // one per entry of index_
};

}  // namespace

PolicyEntry lyapunov_entry() {
  PolicyInfo info;
  info.name = "lyapunov";
  info.title = "Lyapunov Drift Plus Penalty";
  info.summary =
      "Weighs the queue against the speed a job would gain from more GPUs; under load every job starts with few.";
  info.good_for = "jobs that can start on any number of GPUs, under changing load";
  info.weak_for = "bad estimates of run time; jobs that accept only one number of GPUs";
  info.needs = {{Fact::run_time, "the number of steps and the step time count, or default_est_s without those"},
                {Fact::speedup, "the model's size and the bandwidth count, or linear speedup without those"},
                {Fact::choice_of_gpus, "they start on the number they ask for"}};
  info.aliases = {"drift_plus_penalty"};
  info.parameters = {
      {"v",
       ParameterType::number,
       "",
       "5",
       0,
       1e6,
       {},
       "how much speed counts against the queue; 0: start on whatever is free"},
      {"slot_s", ParameterType::number, "s", "10", 0.1, 86400, {}, "time counts in slots of this length"},
      {"tau_s",
       ParameterType::number,
       "s",
       "0",
       0,
       1e9,
       {},
       "unit of time; 0: the mean length of the latest 1,000 jobs"},
      {"penalty",
       ParameterType::choice,
       "",
       "regret",
       0,
       0,
       {"regret", "absolute"},
       "regret: time beyond the best number of GPUs; absolute: the whole run time"},
      {"communication",
       ParameterType::choice,
       "",
       "ring",
       0,
       0,
       {"ring", "literal"},
       "ring: 2(g-1)/g of the parameters per step; literal: all of them, once"},
      {"max_wait_s",
       ParameterType::number,
       "s",
       "0",
       0,
       1e9,
       {},
       "a job that waits longer starts on whatever is free; 0: no limit"},
      {"default_est_s",
       ParameterType::number,
       "s",
       "300",
       1,
       1e9,
       {},
       "run time assumed for a job about which nothing is known"},
  };
  return {std::move(info), [](const Parameters& given) -> std::unique_ptr<Policy> {
            LyapunovPolicySettings settings;
            settings.v = given.number("v");
            settings.slot = Duration::seconds(given.number("slot_s"));
            settings.tau = Duration::seconds(given.number("tau_s"));
            settings.absolute = given.text("penalty") == "absolute";
            settings.ring = given.text("communication") == "ring";
            settings.max_wait = Duration::seconds(given.number("max_wait_s"));
            settings.default_estimate = Duration::seconds(given.number("default_est_s"));
            return std::make_unique<Lyapunov>(settings);
          }};
}

}  // namespace sl
