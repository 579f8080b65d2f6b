#include "policies/preemptive/tiresias_gittins.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>

#include "policies/preemptive/tiresias.h"
#include "policy/history_reader.h"
#include "policy/preemptive_policy.h"

namespace sl {

namespace {

// Amounts in steps of 1/64 of a power of two; up to a second they are all in the first.
std::size_t step_of(double amount) {
  constexpr int bits_of_fraction = 52, bits_of_step = 6;
  const auto step = [](double x) { return std::bit_cast<std::uint64_t>(x) >> (bits_of_fraction - bits_of_step); };
  return static_cast<std::size_t>(step(std::max(amount, 1.0)) - step(1.0));
}

}  // namespace

void GittinsSample::add(double total) {
  totals_.insert(std::upper_bound(totals_.begin(), totals_.end(), total), total);
  sums_.clear();
  fresh_.reset();
}

void GittinsSample::tabulate() const {
  if (sums_.size() == totals_.size() + 1) return;
  sums_.assign(1, 0);
  steps_.assign(1, 0);
  for (const double total : totals_) {
    steps_.resize(std::max(steps_.size(), step_of(total) + 1), sums_.size() - 1);
    sums_.push_back(sums_.back() + total);
  }
}

double GittinsSample::index(double attained, double delta) const {
  if (attained != 0) return work_out(attained, delta);
  if (!fresh_ || fresh_->first != delta) fresh_ = {delta, work_out(0, delta)};
  return fresh_->second;
}

std::size_t GittinsSample::up_to(double amount) const {
  const std::size_t step = step_of(amount);
  if (step >= steps_.size()) return totals_.size();
  const auto at = [&](std::size_t i) { return totals_.begin() + static_cast<std::ptrdiff_t>(i); };
  const auto end = step + 1 < steps_.size() ? at(steps_[step + 1]) : totals_.end();
  return static_cast<std::size_t>(std::upper_bound(at(steps_[step]), end, amount) - totals_.begin());
}

// What the jobs that took more than `attained` take together until they end or have had `delta` more.
double GittinsSample::spent(double attained, double delta, std::size_t from, std::size_t soon) const {
  return sums_[soon] - sums_[from] - static_cast<double>(soon - from) * attained +
         static_cast<double>(totals_.size() - soon) * delta;
}

double GittinsSample::work_out(double attained, double delta) const {
  tabulate();
  const std::size_t from = up_to(attained), soon = up_to(attained + delta);
  if (from == totals_.size()) return 0;
  const double amount = spent(attained, delta, from, soon);
  // The number of survivors divides both and cancels.
  return amount > 0 ? static_cast<double>(soon - from) / amount : 0;
}

// With more service fewer of the jobs are left to end soon, and all of them together take less.
double GittinsSample::index_at_least(double attained, double until, double delta) const {
  tabulate();
  const std::size_t from = up_to(attained), soon = up_to(attained + delta), passed = up_to(until);
  if (passed >= soon) return 0;
  const double amount = spent(attained, delta, from, soon);
  const double rounding = 1e-12 * (sums_.back() + static_cast<double>(totals_.size()) * delta);
  if (std::min(totals_.back() - until, delta) <= rounding) return 0;
  return static_cast<double>(soon - passed) / (amount + rounding);
}

std::size_t gittins_sample_size(std::size_t finished) {
  return finished - finished % std::max<std::size_t>(1, std::bit_floor(finished) / 64);
}

namespace {

struct GittinsSettings {
  TiresiasSettings tiresias;
  PreemptionSettings preemption;
  bool pure = false;
  double delta_gpu_s = 0;
  Duration tick;
};

class TiresiasGittins : public PreemptivePolicy {
 public:
  explicit TiresiasGittins(const GittinsSettings& settings)
      : PreemptivePolicy(settings.preemption), settings_(settings), queues_(settings.tiresias) {}

  std::string standing(const View& view, JobIndex job) const override {
    return queues_.standing(view.job(job), view.now);
  }

 protected:
  void before_attach(const Snapshot& snapshot) override {
    sample_.clear();
    reader_.reset();
    learn(snapshot);
  }
  // A job that waits attains no service: only another sample changes its index.
  bool prepare(const Snapshot& snapshot, Plan&) override {
    sample_differs_ = false;
    learn(snapshot);
    return sample_differs_;
  }
  Rank waiting_rank(const Snapshot& snapshot, const Job& job) override {
    const std::int64_t service_us = TiresiasQueues::service(job, snapshot.now);
    return rank(queues_.queue_of(service_us), service_us, job);
  }
  Rank running_rank(const Snapshot& snapshot, const Job& job) override { return waiting_rank(snapshot, job); }
  RankUntil rank_until(const Snapshot& snapshot, const Job& job) override {
    const int gpus = job.allocation.count();
    const std::int64_t service_us = TiresiasQueues::service(job, snapshot.now);
    const Duration lasts{(service_us / 8 + Duration::whole_seconds(1).us) / gpus};
    const Instant until = std::min(snapshot.now + lasts, queues_.falls_at(job, snapshot.now, gpus));
    const double least = sample_.index_at_least(
        seconds(service_us), seconds(service_us + gpus * (until - snapshot.now).us), settings_.delta_gpu_s);
    return {rank_of(queues_.queue_of(service_us), least, job), until};
  }
  Spread spread_of(const Job& job) const override { return spread_by_skew(job.request, settings_.tiresias.skew_limit); }
  Instant next_change(const Snapshot& snapshot, const Job& job, int gpus) override {
    return gpus == 0 ? queues_.promotion_at(job, snapshot.now) : queues_.falls_at(job, snapshot.now, gpus);
  }
  Rank changed(const Snapshot& snapshot, JobIndex job, Plan& plan) override {
    plan.promote(job);
    return rank(0, 0, snapshot.job(job));
  }
  Instant wake_besides(const Snapshot& snapshot) override {
    const bool runs = std::any_of(snapshot.active.begin(), snapshot.active.end(), [&](JobIndex job) {
      return snapshot.job(job).state == JobState::running || snapshot.job(job).state == JobState::starting;
    });
    return runs ? snapshot.now + settings_.tick : Instant::never();
  }

 private:
  void learn(const Snapshot& snapshot) {
    const std::span history = snapshot.history;
    reader_.read(
        history.first(gittins_sample_size(history.size())),
        [this] {
          sample_.clear();
          sample_differs_ = true;
        },
        [this](const FinishedJob& job) {
          if (!job.succeeded) return;
          sample_.add(Duration{job.attained_gpu_us}.to_seconds());
          sample_differs_ = true;
        });
  }
  static double seconds(std::int64_t us) { return Duration{us}.to_seconds(); }
  Rank rank(int queue, std::int64_t service_us, const Job& job) const {
    return rank_of(queue, sample_.index(seconds(service_us), settings_.delta_gpu_s), job);
  }
  Rank rank_of(int queue, double index, const Job& job) const {
    return {.major = settings_.pure ? 0 : queue,
            .middle = -std::llround(std::min(index, 1e3) * 1e12),
            .minor = job.first_start.happened() ? job.first_start.us : Rank::last};
  }

  GittinsSettings settings_;
  TiresiasQueues queues_;
  GittinsSample sample_;
  HistoryReader reader_;
  bool sample_differs_ = true;  // since the last decision
};

}  // namespace

PolicyEntry tiresias_gittins_entry() {
  PolicyInfo info;
  info.name = "tiresias_gittins";
  info.title = "Tiresias (2D-Gittins)";
  info.summary =
      "Like tiresias, but inside a queue the job goes first that past jobs say is most likely to end soon for its "
      "cost.";
  info.good_for = "workloads whose job lengths resemble those of past jobs";
  info.weak_for = "changing workloads; a short history";
  info.needs = {{Fact::none, "it orders like tiresias", "a history of finished jobs"},
                skew_or_few_servers(),
                checkpoint_or_left_alone()};
  info.preemptive = true;
  info.work_conserving = true;
  info.parameters = TiresiasQueues::parameters();
  info.parameters.push_back(TiresiasQueues::skew_parameter());
  info.parameters.push_back(
      {"delta_gpu_s", ParameterType::number, "GPU-seconds", "3600", 1, 1e12, {}, "how far ahead the index looks"});
  info.parameters.push_back(
      {"pure", ParameterType::boolean, "", "false", 0, 0, {}, "order by the index alone, without queues"});
  info.parameters.push_back({"gittins_tick_s",
                             ParameterType::number,
                             "s",
                             "60",
                             1,
                             86400,
                             {},
                             "ranks are computed anew at least this often while jobs wait"});
  for (ParameterInfo& parameter : PreemptivePolicy::parameters(false)) info.parameters.push_back(std::move(parameter));
  return {std::move(info), [](const Parameters& given) -> std::unique_ptr<Policy> {
            TiresiasSettings tiresias = TiresiasQueues::settings(given);
            tiresias.skew_limit = given.number("skew_limit");
            PreemptionSettings preemption = PreemptivePolicy::settings(given);
            preemption.ages_evenly = false;
            preemption.drifts = true;
            return std::make_unique<TiresiasGittins>(
                GittinsSettings{tiresias, preemption, given.boolean("pure"), given.number("delta_gpu_s"),
                                Duration::seconds(given.number("gittins_tick_s"))});
          }};
}

}  // namespace sl
