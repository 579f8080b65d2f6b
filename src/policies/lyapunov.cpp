#include "policies/lyapunov.h"

#include <algorithm>
#include <numeric>

#include "policy/placer.h"
#include "policy/queue_policy.h"
#include "policy/rank.h"

namespace sl {

ByGpus lyapunov_worth(const LyapunovJob& job, double q, double z, const LyapunovSettings& settings) {
  const double best = *std::min_element(job.time.begin(), job.time.end());
  ByGpus worth;
  for (const double time : job.time) {
    const double penalty = settings.absolute ? time : time - best;
    worth.push_back(q * job.length + z * (job.waited + settings.slot) - settings.v * penalty);
  }
  return worth;
}

namespace {

constexpr double rounding = 1e-9;

struct Option {
  int gpus;
  double worth;
};
using Options = boost::container::small_vector<Option, 4>;  // of one job, fewer GPUs first

std::vector<Options> options_of(const std::vector<LyapunovJob>& jobs, int gpus, const LyapunovSettings& settings) {
  double q = 0, z = 0;
  for (const LyapunovJob& job : jobs) {
    q += job.length;
    z += job.waited;
  }
  std::vector<Options> all;
  for (const LyapunovJob& job : jobs) {
    Options& options = all.emplace_back();
    const ByGpus worth = lyapunov_worth(job, q, z, settings);
    for (std::size_t i = 0; i < worth.size(); ++i) {
      const int g = job.least + static_cast<int>(i);
      if (g <= gpus && g <= job.room && worth[i] > 0) options.push_back({g, worth[i]});
    }
  }
  return all;
}

struct Best {
  double worth = 0;
  int jobs = 0;
};

// At most `gpus` jobs can start, so of those with an option on g GPUs the `gpus` most valuable suffice for each g.
std::vector<std::size_t> candidates(const std::vector<Options>& options, int gpus) {
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < options.size(); ++i) {
    if (!options[i].empty()) all.push_back(i);
  }
  if (all.size() <= static_cast<std::size_t>(gpus)) return all;
  std::vector<bool> keep(options.size(), false);
  for (int g = 1; g <= gpus; ++g) {
    std::vector<std::pair<double, std::size_t>> by_worth;
    for (const std::size_t i : all) {
      for (const Option& option : options[i]) {
        if (option.gpus == g) by_worth.emplace_back(-option.worth, i);
      }
    }
    if (by_worth.empty() && g > 64) break;
    const std::size_t count = std::min(by_worth.size(), static_cast<std::size_t>(gpus));
    std::partial_sort(by_worth.begin(), by_worth.begin() + static_cast<std::ptrdiff_t>(count), by_worth.end());
    for (std::size_t k = 0; k < count; ++k) keep[by_worth[k].second] = true;
  }
  std::erase_if(all, [&](std::size_t i) { return !keep[i]; });
  return all;
}

// Youngest first, so that of equal choices the last word, and the GPUs, are the older job's.
std::vector<int> knapsack(const std::vector<Options>& options, const std::vector<std::size_t>& jobs, int gpus) {
  const auto columns = static_cast<std::size_t>(gpus) + 1;
  std::vector<Best> best(columns), next(columns);
  std::vector<std::vector<std::int16_t>> choice(jobs.size(), std::vector<std::int16_t>(columns, 0));
  for (std::size_t n = jobs.size(); n-- > 0;) {
    for (std::size_t k = 0; k < columns; ++k) {
      next[k] = best[k];
      bool waits = true;
      for (const Option& option : options[jobs[n]]) {
        const auto g = static_cast<std::size_t>(option.gpus);
        if (g > k) break;
        const Best with{best[k - g].worth + option.worth, best[k - g].jobs + 1};
        const double more = with.worth - next[k].worth;
        const bool equal = std::abs(more) <= rounding;
        if (!(more > rounding || (equal && (with.jobs > next[k].jobs || (waits && with.jobs == next[k].jobs)))))
          continue;
        next[k] = with;
        choice[n][k] = static_cast<std::int16_t>(option.gpus);
        waits = false;
      }
    }
    std::swap(best, next);
  }
  std::vector<int> chosen(options.size(), 0);
  std::size_t left = columns - 1;
  for (std::size_t n = 0; n < jobs.size(); ++n) {
    chosen[jobs[n]] = choice[n][left];
    left -= static_cast<std::size_t>(choice[n][left]);
  }
  return chosen;
}

// Each job's options by worth per GPU; ties: older, then fewer GPUs.
std::vector<int> greedy(const std::vector<Options>& options, int gpus) {
  struct Offer {
    double density;
    std::size_t job;
    int gpus;
  };
  std::vector<Offer> offers;
  for (std::size_t i = 0; i < options.size(); ++i) {
    for (const Option& option : options[i]) offers.push_back({option.worth / option.gpus, i, option.gpus});
  }
  std::sort(offers.begin(), offers.end(), [](const Offer& a, const Offer& b) {
    if (a.density != b.density) return a.density > b.density;
    return std::tie(a.job, a.gpus) < std::tie(b.job, b.gpus);
  });
  std::vector<int> chosen(options.size(), 0);
  for (const Offer& offer : offers) {
    if (chosen[offer.job] > 0 || offer.gpus > gpus) continue;
    chosen[offer.job] = offer.gpus;
    gpus -= offer.gpus;
  }
  return chosen;
}

}  // namespace

std::vector<int> lyapunov_choice(const std::vector<LyapunovJob>& jobs, int gpus, const LyapunovSettings& settings,
                                 double exact_ops) {
  const std::vector<Options> options = options_of(jobs, gpus, settings);
  const std::vector<std::size_t> some = candidates(options, gpus);
  double ops = 0;
  for (const std::size_t i : some) ops += static_cast<double>(options[i].size()) * gpus;
  return ops <= exact_ops ? knapsack(options, some, gpus) : greedy(options, gpus);
}

namespace {

struct Settings {
  double v = 5;
  Duration slot = Duration::whole_seconds(10);
  Duration tau;       // 0: the mean length of the jobs that are there
  Duration max_wait;  // 0: none
  bool absolute = false;
  bool ring = true;
  Duration default_estimate = Duration::whole_seconds(300);
};

class Lyapunov : public QueuePolicy<RankKey> {
 public:
  explicit Lyapunov(const Settings& settings) : settings_(settings) {}

  void decide(const Snapshot& snapshot, Plan& plan) override {
    if (!any_fits(snapshot)) return;  // what the others are worth does not matter
    bandwidths(snapshot);
    index_.clear();
    for (Walk walk(lines_); !walk.done(); walk.next()) index_.push_back({walk.job(), walk.shape()});
    Trial trial(snapshot.free);
    // What the placer refuses may be of use to others, who were weighed against it.
    while (trial.free().total() > 0 && !index_.empty() && start_some(snapshot, trial, plan)) continue;
    if (!index_.empty() && time_may_help(trial.free().total()))
      plan.wake_at(Instant{slot_begin(snapshot.now).us + settings_.slot.us});
  }

 protected:
  RankKey key_of(const Snapshot&, const Job& job) override { return RankKey::of({}, job); }
  int gpus_of(const Job& job) const override { return job.request.gpus_min; }

 private:
  bool any_fits(const Snapshot& snapshot) const {
    for (Walk walk(lines_); !walk.done(); walk.close_line()) {
      const JobRequest& request = snapshot.job(walk.job()).request;
      if (place(snapshot.free, snapshot.servers, request, request.gpus_min)) return true;
    }
    return false;
  }

  // Whether a job waits for its start to be worth it. What is worth it and waits has no place: time makes none.
  bool time_may_help(int gpus) const {
    return std::any_of(jobs_.begin(), jobs_.end(), [&](const LyapunovJob& job) {
      if (job.least > gpus) return false;
      if (settings_.max_wait.us > 0) return true;
      const ByGpus worth = lyapunov_worth(job, q_, z_, scaled_);
      return std::any_of(worth.begin(), worth.end(), [](double w) { return w <= 0; });
    });
  }

  static int most(const LyapunovJob& job) { return job.least + static_cast<int>(job.time.size()) - 1; }

  // Time counts in whole slots: between two of them nothing changes by itself.
  Instant slot_begin(Instant now) const {
    const std::int64_t rest = now.us % settings_.slot.us;
    return Instant{now.us - (rest < 0 ? rest + settings_.slot.us : rest)};
  }
  Duration waited(const Snapshot& snapshot, JobIndex index) const {
    return std::max(Duration{}, slot_begin(snapshot.now) - snapshot.job(index).waiting_since);
  }

  // Returns whether any job started; those that did are no longer among those that wait.
  bool start_some(const Snapshot& snapshot, Trial& trial, Plan& plan) {
    gather(snapshot, trial.free());
    const std::vector<int> chosen = lyapunov_choice(jobs_, trial.free().total(), scaled_);
    std::vector<std::size_t> widest_first(jobs_.size());
    std::iota(widest_first.begin(), widest_first.end(), std::size_t{0});
    std::stable_sort(widest_first.begin(), widest_first.end(),
                     [&](std::size_t a, std::size_t b) { return chosen[a] > chosen[b]; });
    std::vector<bool> started(jobs_.size(), false);
    for (const std::size_t i : widest_first) {
      if (trial.free().total() == 0) break;
      const bool overdue = settings_.max_wait.us > 0 && waited(snapshot, index_[i].job) >= settings_.max_wait;
      const int from = overdue ? most(jobs_[i]) : chosen[i];
      started[i] = from > 0 && start(snapshot, i, from, overdue, trial, plan);
    }
    std::size_t i = 0;
    const auto gone = std::erase_if(index_, [&](const Waiting&) { return started[i++]; });
    return gone > 0;
  }

  void gather(const Snapshot& snapshot, const FreeGpus& free) {
    jobs_.clear();
    rooms_.assign(lines_.shapes().size(), {});
    double lengths = 0;
    for (const auto& [index, shape] : index_) {
      jobs_.push_back(describe(snapshot, snapshot.job(index)));
      jobs_.back().room = room(snapshot, free, index, shape, most(jobs_.back()));
      jobs_.back().waited = waited(snapshot, index).to_seconds();
      lengths += jobs_.back().length;
    }
    const double mean = std::max(1e-3, lengths / static_cast<double>(jobs_.size()));
    const double tau = settings_.tau.us > 0 ? settings_.tau.to_seconds() : mean;
    q_ = z_ = 0;
    for (LyapunovJob& job : jobs_) {
      job.length /= tau;
      job.waited /= tau;
      for (double& time : job.time) time /= tau;
      q_ += job.length;
      z_ += job.waited;
    }
    scaled_ = {settings_.v, settings_.slot.to_seconds() / tau, settings_.absolute};
  }

  // The most GPUs, up to `most`, for which there is a place; jobs of one shape ask once.
  int room(const Snapshot& snapshot, const FreeGpus& free, JobIndex job, std::uint32_t shape, int most) {
    Room& known = rooms_[shape];
    if (known.most == most) return known.gpus;
    known = {most, std::min(most, free.total())};
    const JobRequest& request = snapshot.job(job).request;
    while (known.gpus > 0 && !place(free, snapshot.servers, request, known.gpus)) --known.gpus;
    return known.gpus;
  }

  // Of the slowest server: the placement is not known yet.
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
    const int most =
        std::min(request.gpus_max,
                 request.single_server ? std::max(made.least, snapshot.free.gpus_per_server_max()) : request.gpus_max);
    made.length = run_time(snapshot, job, 1);
    for (int g = made.least; g <= most; ++g) made.time.push_back(g == 1 ? made.length : run_time(snapshot, job, g));
    return made;
  }

  double run_time(const Snapshot& snapshot, const Job& job, int gpus) const {
    const JobModel* model = job.request.model.get();
    if (model && model->steps_total && model->batch_size && model->step_time_per_sample_s)
      return by_steps(*model, snapshot, gpus);
    const Figure known = snapshot.estimates.run_time_s(job, gpus);
    if (known.known()) return known.value;
    const int asked = job.request.gpus;
    const Figure as_asked = snapshot.estimates.run_time_s(job, asked);
    const double serial = as_asked.known() ? as_asked.value * snapshot.estimates.speedup(job, asked).value_or(asked)
                                           : settings_.default_estimate.to_seconds() * asked;
    return serial / std::max(1e-9, snapshot.estimates.speedup(job, gpus).value_or(gpus));
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

  // On `from` GPUs or fewer that are worth it.
  bool start(const Snapshot& snapshot, std::size_t i, int from, bool at_any_price, Trial& trial, Plan& plan) const {
    const JobRequest& request = snapshot.job(index_[i].job).request;
    const ByGpus worth = lyapunov_worth(jobs_[i], q_, z_, scaled_);
    for (int g = std::min(from, trial.free().total()); g >= jobs_[i].least; --g) {
      if (!at_any_price && worth[static_cast<std::size_t>(g - jobs_[i].least)] <= 0) continue;
      auto gpus = place(trial.free(), snapshot.servers, request, g);
      if (!gpus) continue;
      trial.take(*gpus, request.demand);
      plan.start(index_[i].job, std::move(*gpus));
      return true;
    }
    return false;
  }

  Settings settings_;
  struct Waiting {
    JobIndex job;
    std::uint32_t shape;
  };
  struct Room {
    int most = 0, gpus = 0;
  };
  std::vector<Room> rooms_;        // by shape
  std::vector<Waiting> index_;     // oldest first, at the time of the latest look
  std::vector<LyapunovJob> jobs_;  // likewise
  LyapunovSettings scaled_;
  double q_ = 0, z_ = 0;             // sums over them
  double inside_ = 0, network_ = 0;  // bytes per second; 0: unknown
};

}  // namespace

PolicyEntry lyapunov_entry() {
  PolicyInfo info;
  info.name = "lyapunov";
  info.title = "Lyapunov Drift Plus Penalty";
  info.summary =
      "Weighs the queue against the speed a job would gain by more GPUs; under load every job starts with few. The "
      "formula is "
      "ours: the talk names the method only.";
  info.good_for = "jobs that can start on any number of GPUs, under changing load";
  info.weak_for = "bad estimates of length; jobs that cannot choose";
  info.needs = {{Fact::run_time, "steps and step time count, or default_est_s where there are none"},
                {Fact::speedup, "parameter bytes and bandwidth count, or linear speed-up where there are none"},
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
       "how much speed counts against the queue; 0: start whatever there is"},
      {"slot_s", ParameterType::number, "s", "10", 0.1, 86400, {}, "time counts in slots of this length"},
      {"tau_s", ParameterType::number, "s", "0", 0, 1e9, {}, "unit of time; 0: the mean length of the jobs that wait"},
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
       "ring: 2(g-1)/g of the parameters a step; literal: all, once"},
      {"max_wait_s",
       ParameterType::number,
       "s",
       "0",
       0,
       1e9,
       {},
       "who waits longer starts on what there is; 0: no limit"},
      {"default_est_s",
       ParameterType::number,
       "s",
       "300",
       1,
       1e9,
       {},
       "run time of a job about which nothing is known"},
  };
  return {std::move(info), [](const Parameters& given) -> std::unique_ptr<Policy> {
            Settings settings;
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
