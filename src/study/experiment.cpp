#include "study/experiment.h"

#include <fmt/format.h>

#include <cmath>
#include <condition_variable>
#include <future>
#include <mutex>
#include <optional>
#include <thread>

#include "policies/adaptive/auto.h"
#include "policy/policy_wrapper.h"
#include "study/auto_policy.h"
#include "study/huge_heap.h"
#include "study/published.h"
#include "trace/profiles.h"
#include "trace/summary.h"
#include "trace/workloads.h"

namespace sl::study {
namespace {

using SharedTrace = std::shared_ptr<const trace::Trace>;

// The ends of the range become numbers that the job names; the GPUs it asks for are one of them.
void keep_to_allowed(const std::vector<int>& counts, trace::TraceDetails& details) {
  if (counts.empty()) return;
  details.gpus_min = *std::ranges::lower_bound(counts, details.gpus_min);
  details.gpus_max = *(std::ranges::upper_bound(counts, details.gpus_max) - 1);
}

// What the job states about its training, with the speeds of the profile if it states none.
std::shared_ptr<const JobModel> with_speeds(const std::shared_ptr<const JobModel>& stated,
                                            const std::shared_ptr<const JobModel>& profile) {
  if (!stated) return profile;
  if (stated->speed_curve.is_measured()) return stated;
  return std::make_shared<const JobModel>(completed(*stated, *profile));
}

Status make_elastic(trace::Trace& trace, const Elastic& elastic) {
  const auto model = trace::find_profile(elastic.profile);
  if (!model.ok()) return model.error();
  std::map<std::pair<std::uint32_t, int>, std::uint32_t> made;  // (details as they were, GPUs) -> details as they are
  for (trace::TraceJob& job : trace.jobs) {
    if (job.gpus == 0) continue;
    const auto [at, added] =
        made.try_emplace({job.details, job.gpus}, static_cast<std::uint32_t>(trace.details.size()));
    if (added) {
      const trace::TraceDetails* before = trace.details_of(job);
      trace::TraceDetails details = before ? *before : trace::TraceDetails{};
      details.gpus_min = std::max(1, static_cast<int>(std::floor(job.gpus * elastic.low)));
      details.gpus_max = std::max(job.gpus, static_cast<int>(std::ceil(job.gpus * elastic.high)));
      if (details.model) keep_to_allowed(details.model->gpu_counts_allowed, details);
      if (!details.profile) details.model = with_speeds(details.model, *model);
      trace.details.push_back(std::move(details));
    }
    job.details = at->second;
  }
  return {};
}

using LeftOut = std::map<Lack, sim::Impossible>;

// Takes out of the trace what the cluster can never run, or refuses the trace, as the user wants.
Result<LeftOut> leave_out(trace::Trace& trace, const ExperimentSettings& settings) {
  LeftOut left_out = sim::leave_out_impossible(trace, settings.cluster);
  if (left_out.empty()) return left_out;
  const sim::Impossible& first = left_out.begin()->second;
  const std::string why = fmt::format("job {} can never run on this cluster: {}", first.first, lack_text(first.why));
  if (settings.trace_options.oversize == trace::Oversize::fail)
    return invalid("trace-impossible", why).hint("--oversize drop leaves such jobs out");
  if (trace.jobs.empty()) return invalid("trace-empty", "the cluster can run no job of the trace").note(why);
  return left_out;
}

// The simulator counts microseconds in 63 bits, 292,000 years; slow servers and costs take their part of them.
constexpr double longest_s = 4e12;

Status check_length(const trace::Trace& trace, const ExperimentSettings& settings, double load) {
  double work_s = 0, gpu_s = 0;
  for (const trace::TraceJob& job : trace.jobs) {
    work_s += job.duration.to_seconds();
    gpu_s += job.duration.to_seconds() * job.gpus;
  }
  if (work_s > longest_s)
    return invalid("trace-too-long", fmt::format("its jobs take {:.0f} years one after another", work_s / 31'557'600))
        .note("the simulator counts up to 100,000 years")
        .hint("shorten them: --max-duration 30d");
  if (load > 0 && gpu_s / (settings.cluster.gpus() * load) > longest_s)
    return invalid("bad-flag", fmt::format("with load {:g} the last job would be submitted in 100,000 years", load));
  return {};
}

Result<SharedTrace> load(const ExperimentSettings& settings, const Arrivals& arrivals, std::uint64_t seed,
                         LeftOut& left_out) {
  trace::TraceOptions options = settings.trace_options;
  if (arrivals.jobs > 0) options.jobs_max = arrivals.jobs;
  Result<trace::Trace> trace = trace::open_trace(settings.trace, seed, options);
  if (!trace.ok()) return trace.error();
  const bool several =
      std::ranges::any_of(settings.arrivals, [&](const Arrivals& a) { return a.jobs != arrivals.jobs; });
  const trace::TraceReport& report = trace->report;
  const std::int64_t all =
      std::ssize(trace->jobs) + report.dropped_oversize + report.dropped_without_gpus;  // with those left out
  if (several && all < arrivals.jobs)  // two counts would be the same jobs
    return invalid("bad-flag", fmt::format("--jobs {}: there are only {}", arrivals.jobs, all))
        .hint("leave that number out");
  if (settings.elastic) {
    if (Status made = make_elastic(*trace, *settings.elastic); !made.ok()) return made.error();
  }
  if (settings.semantics.empty()) {
    auto impossible = leave_out(*trace, settings);
    if (!impossible.ok()) return impossible.error();
    left_out = std::move(*impossible);
  }
  if (Status fits = check_length(*trace, settings, arrivals.load); !fits.ok()) return fits.error();
  if (arrivals.load > 0 && !trace::set_load(*trace, settings.cluster.gpu_speed_total(), arrivals.load))
    return invalid("bad-flag", "no load can be set: all jobs of " + settings.trace + " are submitted at once")
        .hint("simulate it as it is, without --load");
  return std::make_shared<const trace::Trace>(std::move(*trace));
}

// What published simulators do not tell.
void leave_unknown(Metrics& m) {
  m.fragmentation_pct = m.demand_fragmentation_pct = m.gpu_utilization_pct = m.goodput_pct = no_figure;
  m.gpu_s_lost = m.decisions = m.decisions_refused = no_figure;
}

// A trace that several simulations share: read when the first needs it, released when the last is done.
class TraceSlot {
 public:
  void expect() { ++users_; }
  Result<SharedTrace> take(const ExperimentSettings& settings, const Arrivals& arrivals, std::uint64_t seed) {
    const std::lock_guard lock(mutex_);
    if (trace_) return trace_;
    Result<SharedTrace> loaded = load(settings, arrivals, seed, left_out_);
    if (loaded.ok()) trace_ = *loaded;
    return loaded;
  }
  LeftOut left_out() {
    const std::lock_guard lock(mutex_);
    return left_out_;
  }
  // What is true of the trace whatever the policy.
  struct Facts {
    LowerBounds bounds;
    double load = 0;
  };
  Facts facts(const trace::Trace& trace, const sim::Cluster& cluster) {
    std::call_once(has_facts_, [&] {
      facts_ = {lower_bounds(trace, cluster), trace::offered_load(trace, cluster.gpu_speed_total())};
    });
    return facts_;
  }
  void done() {
    const std::lock_guard lock(mutex_);
    if (--users_ == 0) trace_.reset();
  }

 private:
  std::once_flag has_facts_;
  Facts facts_;
  std::mutex mutex_;  // guards all below
  int users_ = 0;
  SharedTrace trace_;
  LeftOut left_out_;
};

// One simulation to run, and its result.
struct Task {
  ExperimentRow* row;
  TraceSlot* slot;
};

// Wraps any policy and keeps its failure beyond its end: the world owns the policy and destroys it.
class Watched : public PolicyWrapper {
 public:
  Watched(std::unique_ptr<Policy> policy, Status& failure, std::atomic<bool>& cancelled)
      : PolicyWrapper(std::move(policy)), failure_(failure), cancelled_(cancelled) {}
  void decide(const Snapshot& snapshot, Plan& plan) override {
    policy_->decide(snapshot, plan);
    const auto failure = policy_->failure();
    if (!failure || !failure_.ok()) return;
    failure_ = *failure;
    cancelled_ = true;
  }

 private:
  Status& failure_;
  std::atomic<bool>& cancelled_;
};

class Runner {
 public:
  Runner(const ExperimentSettings& settings, ExperimentResult& result) : settings_(settings), result_(result) {}

  Status prepare() {
    for (const PolicyChoice& choice : settings_.policies) {
      if (auto made = make(choice); !made.ok()) return made.error();
      for (const Arrivals& arrivals : settings_.arrivals)
        for (const std::uint64_t seed : settings_.seeds) add_row(choice, arrivals, seed);
    }
    for (ExperimentRow& row : result_.rows) {
      tasks_.push_back({&row, &slot_of(row)});
      tasks_.back().slot->expect();
    }
    const auto most = std::ranges::max_element(tasks_, {}, [](const Task& task) { return task.row->arrivals.jobs; });
    if (const auto enough = take(*most); !enough.ok()) return enough.error();
    const auto first = take(tasks_.front());
    if (!first.ok()) return first.error();
    result_.report = (*first)->report;
    result_.impossible = tasks_.front().slot->left_out();
    result_.missing = sim::missing_facts(**first, settings_.cluster, settings_.knows_durations);
    result_.jobs = static_cast<std::int64_t>((*first)->jobs.size());
    for (const Task& task : tasks_) jobs_total_ += task.row->arrivals.jobs > 0 ? task.row->arrivals.jobs : result_.jobs;
    if (Status could = check_semantics(**first); !could.ok()) return could;
    if (settings_.folder.empty()) return {};
    auto folder = ResultFolder::claim(settings_.folder);
    if (!folder.ok()) return folder.error();
    result_.folder = std::move(*folder);
    return {};
  }

  void run(const std::function<bool(const ExperimentProgress&)>& keep_on) {
    std::vector<std::thread> threads;
    const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
    const std::size_t wanted = std::min(cores, tasks_.size());
    running_ = wanted;  // all at once: the first may finish before the last begins
    for (std::size_t t = 0; t < wanted; ++t) threads.emplace_back([this] { work(); });
    watch(keep_on);
    for (std::thread& thread : threads) thread.join();
    result_.interrupted = cancelled_;
  }

 private:
  Result<std::unique_ptr<Policy>> make(const PolicyChoice& choice) const {
    if (settings_.semantics.empty()) return make_policy(choice);
    if (choice.entry)
      return invalid("bad-flag", "--semantics reproduces published policies; " + choice.name + " is not one of them");
    return std::unique_ptr<Policy>();
  }

  Status check_semantics(const trace::Trace& trace) const {
    if (settings_.semantics.empty()) return {};
    for (const PolicyChoice& choice : settings_.policies) {
      Status could = could_simulate_as(settings_.semantics, choice.name, trace, settings_.cluster);
      if (!could.ok()) return could;
    }
    return {};
  }

  void add_row(const PolicyChoice& choice, const Arrivals& arrivals, std::uint64_t seed) {
    ExperimentRow row;
    row.policy = choice;
    row.seed = seed;
    row.arrivals = arrivals;
    result_.rows.push_back(std::move(row));
  }

  // Rows with the same trace share it; a file is the same for all seeds.
  TraceSlot& slot_of(const ExperimentRow& row) {
    return slots_[{row.arrivals, trace::is_workload(settings_.trace) ? row.seed : 0}];
  }
  Result<SharedTrace> take(const Task& task) { return task.slot->take(settings_, task.row->arrivals, task.row->seed); }

  void work() {
    put_heap_in_huge_pages();
    for (std::size_t i; !cancelled_ && (i = next_++) < tasks_.size();) {
      Status& failure = tasks_[i].row->failure;
      failure = run_one(tasks_[i], i);
      if (!failure.ok()) cancelled_ = true;
      tasks_[i].slot->done();
      if (tasks_[i].row->done) ++done_;
    }
    const std::lock_guard lock(mutex_);
    --running_;
    changed_.notify_all();
  }

  void watch(const std::function<bool(const ExperimentProgress&)>& keep_on) {
    std::unique_lock lock(mutex_);
    for (bool is_over = false; !is_over;) {
      is_over = changed_.wait_for(lock, std::chrono::milliseconds(100), [this] { return running_ == 0; });
      const bool goes_on = keep_on(progress());
      if (!is_over && !goes_on) cancelled_ = true;
    }
  }

  // All of it once all simulations are done, although some of their jobs may never have finished.
  ExperimentProgress progress() const {
    const auto jobs = static_cast<double>(std::max<std::int64_t>(1, jobs_total_));
    return {done_, tasks_.size(), done_ == tasks_.size() ? 1 : static_cast<double>(finished_) / jobs};
  }

  Status run_one(Task& task, std::size_t number) {
    ExperimentRow& row = *task.row;
    const auto trace = take(task);
    if (!trace.ok()) return trace.error();
    const std::string name = fmt::format(
        "{}-{}", settings_.semantics.empty() ? row.policy.name : settings_.semantics + "-" + row.policy.name,
        number + 1);
    const auto path = [&](const char* ending, const std::string& alone) {
      return settings_.folder.empty() ? alone : settings_.folder + "/" + name + ending;
    };
    const std::string jobs_path = path(".jobs.csv", settings_.jobs_file);
    const std::string events_path =
        settings_.events || settings_.folder.empty() ? path(".events.csv", settings_.events_file) : "";
    std::unique_ptr<EventFile> events;
    if (!events_path.empty()) {
      auto file = EventFile::create(events_path, **trace, settings_.cluster);
      if (!file.ok()) return file.error();
      events = std::move(*file);
    }
    std::future<TraceSlot::Facts> facts =  // while it is simulated
        std::async([&] { return task.slot->facts(**trace, settings_.cluster); });
    Result<sim::SimulationResult> result = simulate_row(row, **trace, events.get());
    if (!result.ok()) return result.error();
    if (result->cancelled) return {};
    if (events) {
      if (Status closed = events->close(); !closed.ok()) return closed;
    }
    std::future<Status> written;  // while the figures are worked out
    if (!jobs_path.empty()) written = std::async([&] { return write_jobs(jobs_path, **trace, *result); });
    row.metrics = measure(**trace, *result, settings_.cluster);
    if (!settings_.semantics.empty()) leave_unknown(row.metrics);
    row.standstill = result->standstill;
    row.first_unfinished = result->first_unfinished;
    const auto [bounds, load] = facts.get();
    row.load = load;
    // A training of Pollux's may be faster where it runs than on the servers that its length was computed for.
    if (row.metrics.has_all_jobs() && settings_.semantics != "pollux") row.bounds = bounds;
    if (written.valid()) {
      if (Status jobs = written.get(); !jobs.ok()) return jobs;
    }
    if (!settings_.folder.empty()) row.jobs_file = name + ".jobs.csv";
    if (!settings_.folder.empty() && events) row.events_file = name + ".events.csv";
    row.done = true;
    return {};
  }

  Result<sim::SimulationResult> simulate_row(const ExperimentRow& row, const trace::Trace& trace,
                                             sim::WorldObserver* observer) {
    if (!settings_.semantics.empty())
      return simulate_as(settings_.semantics, row.policy.name, trace, settings_.cluster);
    sim::SimulationSettings simulation;
    simulation.cluster = settings_.cluster;
    simulation.knows_durations = settings_.knows_durations;
    simulation.seed = row.seed;
    simulation.finished = &finished_;
    simulation.cancelled = &cancelled_;
    simulation.observer = observer;
    Status failure;
    std::vector<sim::PolicySwitch> switches;
    for (const auto& [after, choice] : settings_.switches) {
      auto policy = make_watched(choice, failure);
      if (!policy.ok()) return policy.error();
      switches.push_back({trace.jobs.front().submitted + after, choice.name, std::move(*policy)});
    }
    auto policy = make_watched(row.policy, failure);
    if (!policy.ok()) return policy.error();
    if (const PolicyEntry& entry = entry_of(row.policy); entry.info.name == auto_name)
      simulation.advise = auto_adviser(trace, simulation, row.policy.parameters);
    sim::SimulationResult result = sim::simulate(trace, std::move(*policy), simulation, std::move(switches));
    if (!failure.ok()) return failure.error();
    return result;
  }

  // Built-in policies cannot fail and are not wrapped, so they lose no speed.
  Result<std::unique_ptr<Policy>> make_watched(const PolicyChoice& choice, Status& failure) {
    auto policy = make_policy(choice);
    if (!policy.ok() || !choice.entry) return policy;
    return std::unique_ptr<Policy>(std::make_unique<Watched>(std::move(*policy), failure, cancelled_));
  }

  const ExperimentSettings& settings_;
  ExperimentResult& result_;
  std::vector<Task> tasks_;
  std::map<std::pair<Arrivals, std::uint64_t>, TraceSlot> slots_;
  std::atomic<std::size_t> next_{0}, done_{0};
  std::atomic<std::int64_t> finished_{0};
  std::atomic<bool> cancelled_{false};
  std::int64_t jobs_total_ = 0;
  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::size_t running_ = 0;
};

}  // namespace

Result<std::unique_ptr<Policy>> make_policy(const PolicyChoice& choice) {
  if (!choice.entry) return sl::make_policy(choice.name, choice.parameters);
  const auto parameters = parse_parameters(choice.entry->info, choice.parameters);
  if (!parameters.ok()) return parameters.error();
  return choice.entry->make(*parameters);
}

const PolicyEntry& entry_of(const PolicyChoice& choice) {
  return choice.entry ? *choice.entry : *find_policy(choice.name);
}

const ExperimentRow* ExperimentResult::failed() const {
  const auto first = std::ranges::find_if(rows, [](const ExperimentRow& row) { return !row.failure.ok(); });
  return first == rows.end() ? nullptr : &*first;
}

Result<ExperimentResult> run_experiment(const ExperimentSettings& settings,
                                        const std::function<bool(const ExperimentProgress&)>& keep_on) {
  put_heap_in_huge_pages();
  ExperimentResult result;
  Runner runner(settings, result);
  if (Status prepared = runner.prepare(); !prepared.ok()) return prepared.error();
  runner.run(keep_on);
  return result;
}

}  // namespace sl::study
