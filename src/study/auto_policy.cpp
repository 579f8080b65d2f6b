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
#include "forecast/shadow.h"
#include "policies/adaptive/auto.h"
#include "policies/registry.h"
#include "policy/history_reader.h"
#include "sim/continuation.h"
#include "sim/requests.h"
#include "sim/trainings.h"

namespace sl::study {
namespace {

constexpr std::size_t futures = 8;              // with more, the choices are hardly better and cost as much more
constexpr std::size_t pasts = 4;                // of the window behind: only what has not ended is drawn
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
    const bool looks_back = forecast::looks_back(rules_.objective);
    if (looks_back && !window_) begin_window(core, now);
    if (now < next_ || core.waiting().empty()) return std::nullopt;
    next_ = now + Duration::seconds(parameters_.every_s);
    if (!last_change_.happened()) last_change_ = now - rules_.hold;  // the first change need not wait
    const auto choice =
        forecast::choose(looks_back ? try_since(core, now) : try_all(core, now), rules_, now, last_change_);
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
  forecast::Present present_of(const Core& core, Instant now) {
    forecast::Present present = forecast::copy_of(core, now);
    present.next_wake = now;          // a policy that takes over decides at once
    auto& history = present.history;  // each future reads all of it
    if (std::ssize(history) > history_most) history.erase(history.begin(), history.end() - history_most);
    return present;
  }

  // Each candidate continued from the present.
  std::vector<forecast::Trial> try_all(const Core& core, Instant now) {
    forecast::Present present = present_of(core, now);
    learn(core);
    auto prospects = prospects_of(present);
    const Duration ahead = Duration::seconds(parameters_.ahead_s);
    const std::size_t here = present.jobs.size();
    forecast::add_arrivals(present, prospects, recent(present, ahead), ahead, lengths_);
    for (std::size_t at = here; world_.knows_durations && at < present.jobs.size(); ++at)
      prospects[at] = known(*present.jobs[at].request.estimate, 0);
    return forecast::what_if(
        present, prospects, contenders(),
        {.continue_present = sim::continue_present,
         .until = rules_.objective == forecast::Objective::mean_jct ? now + ahead : Instant::never(),
         .seed = ++asked_,
         .draws = world_.knows_durations ? 1 : futures});
  }

  // Each candidate since the window began.
  std::vector<forecast::Trial> try_since(const Core& core, Instant now) {
    if (window_->jobs() > forecast::window_jobs_most || usable_ != forecast::usable_gpus(core.servers())) {
      begin_window(core, now);
      return {};
    }
    learn(core);
    forecast::Present present = present_of(core, now);
    while (next_job_ < trace_.jobs.size() && trace_.jobs[next_job_].submitted <= now) {
      const std::size_t members = trace::array_at(trace_, next_job_);
      Job job;
      job.request = request_of(present, next_job_);
      if (members > 0) make_group(job, next_job_, members);
      window_->submitted(job);
      next_job_ += std::max<std::size_t>(1, members);
    }
    const auto prospects = prospects_of(present);
    std::vector<forecast::JobFacts> facts;
    for (const Job& job : present.jobs)
      facts.push_back({.kind = kind_of(job.request.user, job.request.family, job.request.gpus)});
    auto replay = window_->replay(present, facts, lengths_);
    for (std::size_t at = 0; world_.knows_durations && at < replay.present.jobs.size(); ++at) {
      const std::size_t here = present.find(replay.present.jobs[at].request.id);
      if (here == present.jobs.size()) continue;
      replay.prospects[at].basis = prospects[here].basis;
      replay.prospects[at].reported_s = prospects[here].reported_s;
    }
    auto trials = forecast::what_if(replay.present, replay.prospects, contenders(),
                                    {.continue_present = sim::continue_present,
                                     .until = now,
                                     .seed = ++asked_,
                                     .draws = world_.knows_durations ? 1 : pasts});
    past_.add_to(trials);
    return trials;
  }
  void begin_window(const Core& core, Instant now) {
    learn(core);
    forecast::Present present = present_of(core, now);
    prospects_of(present);
    window_.emplace(present);
    usable_ = forecast::usable_gpus(core.servers());
    past_.window_began();
    while (next_job_ < trace_.jobs.size() && trace_.jobs[next_job_].submitted <= now) ++next_job_;
  }

  std::vector<forecast::Contender> contenders() const {
    std::vector<forecast::Contender> contenders;
    const auto add = [&](const std::string& name) {
      contenders.push_back({name, [name] { return std::move(*make_policy(name)); }});
    };
    add(parameters_.acting);
    for (const std::string& name : parameters_.candidates) {
      if (name != parameters_.acting) add(name);
    }
    return contenders;
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
          if (window_) window_->ended(job.job, job.run.to_seconds());
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
        job.request.estimate = length_of(job);
        prospects.push_back(known(*job.request.estimate, job.run_at(present.now).to_seconds()));
      } else {
        prospects.push_back(lengths_.prospect_of(job, facts, present.now));
      }
    }
    return prospects;
  }
  // Of a group: the mean of its members.
  Duration length_of(const Job& job) const {
    const std::size_t first = sim::place_of(trace_, job.request.id);
    const std::int64_t jobs = job.group ? job.group->size : 1;
    Duration sum;
    for (std::int64_t i = 0; i < jobs; ++i) sum = sum + trace_.jobs[first + static_cast<std::size_t>(i)].duration;
    return Duration{sum.us / jobs};
  }
  void make_group(Job& job, std::size_t first, std::size_t members) const {
    job.group = std::make_unique<Group>();
    job.group->size = static_cast<std::int64_t>(members);
    job.group->first_member = std::exchange(job.request.id, sim::group_of(trace_, first));
    job.group->max_running = trace_.details_of(trace_.jobs[first])->max_running;
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
      job.request = request_of(present, static_cast<std::size_t>(at - jobs.begin()));
      job.facts.kind = kind_of(job.request.user, job.request.family, job.request.gpus);
    }
    return recent;
  }
  JobRequest request_of(forecast::Present& present, std::size_t index) {
    const trace::TraceJob& job = trace_.jobs[index];
    JobRequest request = requests_.of(job);
    request.id = JobId(static_cast<std::int64_t>(index) + 1);
    request.prerequisites = prerequisite_.of(job);
    request.user = present.users.intern(trace_.users[job.user]);
    const trace::TraceDetails* details = trace_.details_of(job);
    if (details && !details->family.empty()) request.family = present.families.intern(details->family);
    if (world_.knows_durations) request.estimate = job.duration;
    note_costs(request);
    return request;
  }
  // A copy knows what an interruption costs only from its model.
  void note_costs(JobRequest& request) {
    const Duration cost = sim::restart_cost(trace_, sim::place_of(trace_, request.id), world_.cluster.costs);
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
  sim::Requests requests_{trace_, world_.cluster};
  sim::Prerequisite prerequisite_{trace_};
  GivenParameters given_;
  AutoParameters parameters_;
  forecast::ChoiceRules rules_;
  Instant next_, last_change_, learnt_up_to_, newest_;
  std::uint64_t asked_ = 0;
  std::optional<forecast::ShadowWindow> window_;  // behind
  forecast::PastCosts past_;
  std::vector<int> usable_;   // GPUs, since the window began
  std::size_t next_job_ = 0;  // of the trace: the first that the window does not know
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
