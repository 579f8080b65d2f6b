#include "study/auto_policy.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/suggest.h"
#include "core/core.h"
#include "forecast/arrivals.h"
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
    auto prospects = prospects_of(present);
    const Duration ahead = Duration::seconds(parameters_.ahead_s);
    const std::size_t here = present.jobs.size();
    forecast::add_arrivals(present, prospects, recent(present, ahead), ahead, lengths_);
    for (std::size_t at = here; world_.knows_durations && at < present.jobs.size(); ++at)
      prospects[at] = known(*present.jobs[at].request.estimate, 0);
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
        {.continue_present = sim::continue_present,
         .until = rules_.objective == forecast::Objective::mean_jct ? now + ahead : Instant::never(),
         .seed = ++asked_,
         .draws = world_.knows_durations ? 1 : futures});
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
      note_costs(job.request);
      const forecast::JobFacts facts{.kind = kind_of(job.request.user, job.request.family, job.request.gpus)};
      if (world_.knows_durations) {
        job.request.estimate = trace_.jobs[sim::index_of(job.request.id)].duration;
        prospects.push_back(known(*job.request.estimate, job.run_at(present.now).to_seconds()));
      } else {
        prospects.push_back(lengths_.prospect_of(job, facts, present.now));
      }
    }
    return prospects;
  }
  static forecast::Lengths::Prospect known(Duration length, double done_s) {
    return {.basis = {.kind = forecast::BasisKind::progress},
            .passed_s = done_s,
            .reported_s = std::max(0.0, length.to_seconds() - done_s)};
  }
  // What was submitted in the time before, as the world submits it.
  std::vector<forecast::RecentJob> recent(forecast::Present& present, Duration window) {
    std::vector<forecast::RecentJob> recent;
    const auto& jobs = trace_.jobs;
    const auto later = [](Instant at, const trace::TraceJob& job) { return at < job.submitted; };
    const auto end = std::upper_bound(jobs.begin(), jobs.end(), present.now, later);
    for (auto at = std::upper_bound(jobs.begin(), end, present.now - window, later); at != end; ++at) {
      forecast::RecentJob& job = recent.emplace_back();
      job.request = sim::request_of(trace_, *at, world_.cluster);
      job.request.id = JobId(at - jobs.begin() + 1);
      job.request.user = present.users.intern(trace_.users[at->user]);
      const trace::TraceDetails* details = trace_.details_of(*at);
      if (details && !details->family.empty()) job.request.family = present.families.intern(details->family);
      if (world_.knows_durations) job.request.estimate = at->duration;
      note_costs(job.request);
      job.facts.kind = kind_of(job.request.user, job.request.family, job.request.gpus);
    }
    return recent;
  }
  // A copy knows what an interruption costs only from its model.
  void note_costs(JobRequest& request) {
    const Duration cost = sim::restart_cost(trace_, sim::index_of(request.id), world_.cluster.costs);
    if (request.model && request.model->restart_cost == cost) return;
    auto& model = models_[{request.model.get(), cost.us}];
    if (!model) {
      JobModel with_cost = request.model ? *request.model : JobModel{};
      with_cost.restart_cost = cost;
      model = std::make_shared<const JobModel>(std::move(with_cost));
    }
    request.model = model;
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
