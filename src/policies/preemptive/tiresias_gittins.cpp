#include "policies/preemptive/tiresias_gittins.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>

#include "policies/preemptive/tiresias.h"
#include "policy/history_reader.h"
#include "policy/preemptive_policy.h"

namespace sl {

void GittinsSample::add(double total) {
  totals_.insert(std::upper_bound(totals_.begin(), totals_.end(), total), total);
  sums_.clear();
  fresh_.reset();
}

double GittinsSample::index(double attained, double delta) const {
  if (attained != 0) return work_out(attained, delta);
  if (!fresh_ || fresh_->first != delta) fresh_ = {delta, work_out(0, delta)};
  return fresh_->second;
}

double GittinsSample::work_out(double attained, double delta) const {
  if (sums_.size() != totals_.size() + 1) {
    sums_.assign(1, 0);
    for (const double total : totals_) sums_.push_back(sums_.back() + total);
  }
  const auto position = [this](double amount) {
    return static_cast<std::size_t>(std::upper_bound(totals_.begin(), totals_.end(), amount) - totals_.begin());
  };
  const std::size_t from = position(attained), soon = position(attained + delta), end = totals_.size();
  if (from == end) return 0;
  const auto ending = static_cast<double>(soon - from);
  const double spent = sums_[soon] - sums_[from] - ending * attained + static_cast<double>(end - soon) * delta;
  return spent > 0 ? ending / spent : 0;  // the number of survivors divides both and cancels
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
  bool prepare(const Snapshot& snapshot, Plan&) override {
    sample_differs_ = false;
    learn(snapshot);
    return true;
  }
  // A job that waits attains no service: only another sample changes its index.
  bool waiting_ranks_differ() const override { return sample_differs_; }
  Rank waiting_rank(const Snapshot& snapshot, const Job& job) override {
    return rank(queues_.queue(job, snapshot.now), TiresiasQueues::service(job, snapshot.now), job);
  }
  Rank running_rank(const Snapshot& snapshot, const Job& job) override { return waiting_rank(snapshot, job); }
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
  Rank rank(int queue, std::int64_t service_us, const Job& job) const {
    const double index = sample_.index(Duration{service_us}.to_seconds(), settings_.delta_gpu_s);
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
            return std::make_unique<TiresiasGittins>(
                GittinsSettings{tiresias, PreemptivePolicy::settings(given), given.boolean("pure"),
                                given.number("delta_gpu_s"), Duration::seconds(given.number("gittins_tick_s"))});
          }};
}

}  // namespace sl
