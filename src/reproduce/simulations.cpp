#include "reproduce/simulations.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <optional>
#include <thread>

#include "study/huge_heap.h"
#include "study/results.h"
#include "trace/workloads.h"

namespace sl::reproduce {
namespace {

JobTimes times_of(const trace::TraceJob& job, const sim::Outcome& outcome) {
  JobTimes times;
  times.submitted_s = job.submitted.to_seconds();
  times.started_s = outcome.started.happened() ? outcome.started.to_seconds() : study::no_figure;
  times.finished_s = outcome.finished.happened() ? outcome.finished.to_seconds() : study::no_figure;
  times.user = job.user;
  times.has_finished = outcome.finished.happened();
  return times;
}

Result<Simulated> simulate_one(const Scenario& scenario) {
  Result<trace::Trace> trace = trace::open_trace(scenario.trace, scenario.seed, scenario.options);
  if (!trace.ok()) return trace.error();
  if (scenario.adapt) scenario.adapt(*trace);
  Result<std::unique_ptr<Policy>> policy = make_policy(scenario.policy, scenario.parameters);
  if (!policy.ok()) return policy.error();
  sim::SimulationSettings settings;
  settings.cluster = scenario.cluster;
  settings.seed = scenario.seed;
  settings.like_live = scenario.like_live;
  settings.knows_durations = scenario.knows_durations;
  std::unique_ptr<study::EventFile> events;
  if (!scenario.events_file.empty()) {
    auto file = study::EventFile::create(scenario.events_file, *trace, scenario.cluster);
    if (!file.ok()) return file.error();
    events = std::move(*file);
    settings.observer = events.get();
  }
  const sim::SimulationResult result = sim::simulate(*trace, std::move(*policy), settings);
  if (events) {
    if (Status closed = events->close(); !closed.ok()) return closed.error();
  }
  Simulated simulated{study::measure(*trace, result, scenario.cluster), {}};
  for (std::size_t i = 0; i < trace->jobs.size(); ++i)
    simulated.jobs.push_back(times_of(trace->jobs[i], result.outcomes[i]));
  return simulated;
}

}  // namespace

std::vector<double> Simulated::jct_s() const {
  std::vector<double> values;
  for (const JobTimes& job : jobs) {
    if (job.has_finished) values.push_back(job.finished_s - job.submitted_s);
  }
  return values;
}

Result<std::vector<Simulated>> simulate_all(const std::vector<Scenario>& scenarios) {
  std::vector<std::optional<Result<Simulated>>> results(scenarios.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    study::put_heap_in_huge_pages();
    for (std::size_t i; (i = next++) < scenarios.size();) results[i] = simulate_one(scenarios[i]);
  };
  std::vector<std::thread> threads;
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  for (std::size_t t = 1; t < std::min(cores, scenarios.size()); ++t) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  std::vector<Simulated> all;
  for (std::optional<Result<Simulated>>& result : results) {
    if (!result->ok()) return result->error();
    all.push_back(std::move(**result));
  }
  return all;
}

std::vector<std::uint64_t> seeds_up_to(int count) {
  std::vector<std::uint64_t> seeds(static_cast<std::size_t>(count));
  std::iota(seeds.begin(), seeds.end(), 1U);
  return seeds;
}

}  // namespace sl::reproduce
