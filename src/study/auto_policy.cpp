#include "study/auto_policy.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/suggest.h"
#include "core/core.h"
#include "forecast/choice.h"
#include "policies/adaptive/auto.h"
#include "policies/registry.h"
#include "policy/history_reader.h"
#include "sim/continuation.h"
#include "sim/requests.h"
#include "sim/trainings.h"

namespace sl::study {
namespace {

constexpr std::size_t futures = 8;              // with more, the choices are hardly better and cost as much more
constexpr std::ptrdiff_t history_most = 1'000;  // finished jobs that policies learn from in a future

forecast::RunKind kind_of(UserIndex user, FamilyIndex family, int gpus) {
  return {.user = user.value, .family = family.value, .gpus = gpus};
}

class Adviser {
 public:
  Adviser(const trace::Trace& trace, const sim::SimulationSettings& world, const GivenParameters& given)
      : trace_(trace), world_(world), given_(given) {
    auto read = parse_parameters(find_policy(auto_name)->info, given);
    SL_CHECK(read.ok(), "the parameters were checked when the policy was made");
    parameters_ = read_auto(*read);
    rules_ = {.objective = *forecast::parse_objective(parameters_.objective),
              .hold = Duration::seconds(parameters_.hold_s),
              .gain = parameters_.gain_pct / 100};
  }

  std::optional<sim::PolicySwitch> advise(const Core& core, Instant now) {
    if (now < next_ || core.waiting().empty()) return std::nullopt;
    next_ = now + Duration::seconds(parameters_.every_s);
    if (!last_change_.happened()) last_change_ = now - rules_.hold;  // the first change need not wait
    const auto choice = forecast::choose(try_all(core, now), rules_, now, last_change_);
    if (!choice) return std::nullopt;
    last_change_ = now;
    parameters_.acting = choice->policy;
    GivenParameters given = given_;
    std::erase_if(given, [](const auto& pair) { return is_same_name(pair.first, "acting"); });
    given.emplace_back("acting", choice->policy);
    return sim::PolicySwitch{now, std::string(auto_name) + ": " + choice->policy + ", " + choice->why,
                             std::move(*make_policy(auto_name, given))};
  }

 private:
  std::vector<forecast::Trial> try_all(const Core& core, Instant now) {
    forecast::Present present = forecast::copy_of(core, now);
    present.next_wake = now;  // a policy that takes over decides at once
    learn(core);
    auto& history = present.history;  // each future reads all of it
    if (std::ssize(history) > history_most) history.erase(history.begin(), history.end() - history_most);
    const auto prospects = prospects_of(present);
    std::vector<forecast::Contender> contenders;
    const auto add = [&](const std::string& name) {
      contenders.push_back({name, [name] { return std::move(*make_policy(name)); }});
    };
    add(parameters_.acting);
    for (const std::string& name : parameters_.candidates) {
      if (name != parameters_.acting) add(name);
    }
    return forecast::what_if(
        present, prospects, contenders,
        {.continue_present = sim::continue_present, .seed = ++asked_, .draws = world_.knows_durations ? 1 : futures});
  }

  // What has finished, with what their users had estimated.
  void learn(const Core& core) {
    finished_.read(
        core.history(), [] {},
        [&](const FinishedJob& job) {
          if (job.job.value <= 0 || job.ended <= learnt_up_to_) return;
          const auto estimate = estimate_of(job.job);
          lengths_.add({.kind = kind_of(job.user, job.family, job.gpus),
                        .run_s = job.run.to_seconds(),
                        .estimate_s = estimate ? std::optional(estimate->to_seconds()) : std::nullopt});
          newest_ = std::max(newest_, job.ended);
        });
    learnt_up_to_ = newest_;
  }
  std::optional<Duration> estimate_of(JobId job) const {
    const trace::TraceDetails* details = trace_.details_of(trace_.jobs[sim::index_of(job)]);
    return details ? details->estimate : std::nullopt;
  }

  std::vector<forecast::Lengths::Prospect> prospects_of(forecast::Present& present) {
    std::vector<forecast::Lengths::Prospect> prospects;
    prospects.reserve(present.jobs.size());
    for (Job& job : present.jobs) {
      note_costs(job);
      const forecast::JobFacts facts{.kind = kind_of(job.request.user, job.request.family, job.request.gpus)};
      if (world_.knows_durations) {
        job.request.estimate = trace_.jobs[sim::index_of(job.request.id)].duration;
        const double done_s = job.run_at(present.now).to_seconds();
        prospects.push_back({.basis = {.kind = forecast::BasisKind::progress},
                             .passed_s = done_s,
                             .reported_s = std::max(0.0, job.request.estimate->to_seconds() - done_s)});
      } else {
        prospects.push_back(lengths_.prospect_of(job, facts, present.now));
      }
    }
    return prospects;
  }
  // A copy knows what an interruption costs only from its model.
  void note_costs(Job& job) {
    const Duration cost = sim::restart_cost(trace_, sim::index_of(job.request.id), world_.cluster.costs);
    if (job.request.model && job.request.model->restart_cost == cost) return;
    auto& model = models_[{job.request.model.get(), cost.us}];
    if (!model) {
      JobModel with_cost = job.request.model ? *job.request.model : JobModel{};
      with_cost.restart_cost = cost;
      model = std::make_shared<const JobModel>(std::move(with_cost));
    }
    job.request.model = model;
  }

  const trace::Trace& trace_;
  const sim::SimulationSettings& world_;
  GivenParameters given_;
  AutoParameters parameters_;
  forecast::ChoiceRules rules_;
  Instant next_, last_change_, learnt_up_to_, newest_;
  std::uint64_t asked_ = 0;
  HistoryReader finished_;
  forecast::Lengths lengths_;
  std::map<std::pair<const JobModel*, std::int64_t>, std::shared_ptr<const JobModel>> models_;
};

}  // namespace

std::function<std::optional<sim::PolicySwitch>(const Core&, Instant)> auto_adviser(const trace::Trace& trace,
                                                                                   const sim::SimulationSettings& world,
                                                                                   const GivenParameters& parameters) {
  auto adviser = std::make_shared<Adviser>(trace, world, parameters);
  return [adviser](const Core& core, Instant now) { return adviser->advise(core, now); };
}

}  // namespace sl::study
