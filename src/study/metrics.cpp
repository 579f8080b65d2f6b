#include "study/metrics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/statistics.h"
#include "sim/behaviour.h"
#include "trace/profiles.h"

namespace sl::study {
namespace {

constexpr double slowdown_floor_s = 10;  // shorter jobs count as this long
constexpr double unfair_above = 1.1;

double mean(const std::vector<double>& values) {
  if (values.empty()) return 0;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

struct Percentile {
  double fraction;
  double* figure;
};

// Percentiles by nearest rank; the wanted fractions ascend. Reorders the values.
void measure_percentiles(std::vector<double>& values, std::initializer_list<Percentile> wanted) {
  if (values.empty()) return;
  auto from = values.begin();  // no earlier value is larger
  for (const auto& [fraction, figure] : wanted) {
    const auto at = values.begin() + static_cast<std::ptrdiff_t>(nearest_rank(fraction, values.size()));
    std::nth_element(from, at, values.end());
    *figure = *at;
    from = at;
  }
}

// For every job, the number of jobs with GPUs in the system, integrated over the time that job was in it. The figures of
// unfinished jobs have no meaning.
std::vector<double> integrate_contention(const trace::Trace& trace, const sim::SimulationResult& result) {
  std::vector<double> integrals(trace.jobs.size());
  std::size_t next = 0;  // index of the next submission
  double jobs = 0, integral = 0;
  std::int64_t now = trace.jobs.front().submitted.us;
  const auto pass_to = [&](std::int64_t at) {
    integral += jobs * static_cast<double>(at - now);
    now = at;
  };
  const auto submit = [&] {
    pass_to(trace.jobs[next].submitted.us);
    integrals[next] -= integral;
    jobs += trace.jobs[next].gpus > 0 && result.outcomes[next].finished.happened();
    ++next;
  };
  for (const std::uint32_t job : result.finished) {
    const std::int64_t at = result.outcomes[job].finished.us;
    while (next < trace.jobs.size() && trace.jobs[next].submitted.us <= at) submit();
    pass_to(at);
    integrals[job] += integral;
    jobs -= trace.jobs[job].gpus > 0;
  }
  return integrals;
}

// Writes one figure of every finished job into `values`, which is as long as the trace and may be its input: value(i)
// of the trace's ith job ends up at or before index i. One figure at a time in the same memory, since traces are long.
template <typename Value>
void collect(const sim::SimulationResult& result, std::vector<double>& values, Value value) {
  values.resize(result.outcomes.size());
  std::size_t n = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (result.outcomes[i].finished.happened()) values[n++] = value(i);
  }
  values.resize(n);
}

void measure_fairness(Metrics& m, const trace::Trace& trace, const sim::SimulationResult& result, double gpus,
                      std::vector<double>& fairness) {
  fairness = integrate_contention(trace, result);
  collect(result, fairness, [&](std::size_t i) {
    const trace::TraceJob& job = trace.jobs[i];
    if (job.gpus == 0) return no_figure;  // it has no share of GPUs
    const Duration jct = result.outcomes[i].finished - job.submitted;
    const double contenders = jct.us > 0 ? fairness[i] / static_cast<double>(jct.us) : 1;
    return finish_time_fairness(jct.to_seconds(), job.duration.to_seconds(), job.gpus, contenders, gpus);
  });
  std::erase_if(fairness, [](double rho) { return std::isnan(rho); });
  if (fairness.empty()) {
    m.max_finish_time_fairness = m.p95_finish_time_fairness = m.unfair_jobs_pct = m.jain_fairness = no_figure;
    return;
  }
  double sum = 0, squares = 0;
  for (const double rho : fairness) {
    m.max_finish_time_fairness = std::max(m.max_finish_time_fairness, rho);
    m.unfair_jobs_pct += rho > unfair_above;
    sum += 1 / rho;
    squares += 1 / (rho * rho);
  }
  const auto n = static_cast<double>(fairness.size());
  m.unfair_jobs_pct *= 100 / n;
  m.jain_fairness = sum * sum / (n * squares);
  measure_percentiles(fairness, {{0.95, &m.p95_finish_time_fairness}});
}

void measure_times(Metrics& m, const trace::Trace& trace, const sim::SimulationResult& result,
                   std::vector<double>& values) {
  const auto jct = [&](std::size_t i) { return (result.outcomes[i].finished - trace.jobs[i].submitted).to_seconds(); };
  collect(result, values, jct);
  m.avg_jct_s = mean(values);
  measure_percentiles(values, {{0.5, &m.p50_jct_s}, {0.95, &m.p95_jct_s}, {0.99, &m.p99_jct_s}});
  collect(result, values,
          [&](std::size_t i) { return (result.outcomes[i].started - trace.jobs[i].submitted).to_seconds(); });
  m.avg_wait_s = mean(values);
  measure_percentiles(values, {{0.95, &m.p95_wait_s}});
  collect(result, values, [&](std::size_t i) {
    return std::max(jct(i) / std::max(trace.jobs[i].duration.to_seconds(), slowdown_floor_s), 1.0);
  });
  m.avg_slowdown = mean(values);
  measure_percentiles(values, {{0.95, &m.p95_slowdown}});
}

// Unfinished jobs with a deadline count as having missed it.
void measure_deadlines(Metrics& m, const trace::Trace& trace, const sim::SimulationResult& result) {
  double with = 0, hit = 0, late = 0, tardy = 0, ended = 0;
  for (std::size_t i = 0; i < trace.jobs.size(); ++i) {
    const trace::TraceDetails* details = trace.details_of(trace.jobs[i]);
    if (!details || details->deadline.is_never()) continue;
    ++with;
    const Instant finished = result.outcomes[i].finished;
    if (!finished.happened()) continue;
    const double lateness = (finished - details->deadline).to_seconds();
    hit += lateness <= 0;
    late += lateness;
    tardy += std::max(lateness, 0.0);
    ++ended;
  }
  if (with > 0) m.deadline_hit_pct = 100 * hit / with;
  if (ended > 0) m.avg_lateness_s = late / ended, m.avg_tardiness_s = tardy / ended;
}

void measure_gpus(Metrics& m, const sim::SimulationResult& result, const sim::Cluster& cluster, Instant first) {
  const double busy_s = result.busy_until.happened() ? (result.busy_until - first).to_seconds() : 0;
  const double span_s = std::max(m.makespan_s, busy_s);
  const double all = span_s * cluster.gpus();
  if (all > 0) m.gpu_allocation_pct = 100 * result.gpu_s_allocated / all;
  const double given =
      std::max(result.gpu_s_given, result.gpu_s_allocated);  // published simulators know only the latter
  const double kept = given > 0 ? 1 - result.gpu_s_lost / given : 0;
  if (all > 0) m.gpu_utilization_pct = 100 * result.gpu_s_allocated * kept / all;
  if (given > 0) m.goodput_pct = 100 * kept;
  if (result.free_gpu_s > 0) {
    m.fragmentation_pct = 100 * result.fragmented_gpu_s / result.free_gpu_s;
    m.demand_fragmentation_pct = 100 * result.fragmented_demand_gpu_s / result.free_gpu_s;
  }
  m.gpu_s_lost = result.gpu_s_lost;
}

// There are no finished jobs that would have these figures.
void measure_nothing(Metrics& m) {
  using M = Metrics;
  constexpr double M::*of_jobs[] = {&M::avg_jct_s,
                                    &M::p50_jct_s,
                                    &M::p95_jct_s,
                                    &M::p99_jct_s,
                                    &M::avg_wait_s,
                                    &M::p95_wait_s,
                                    &M::avg_total_wait_s,
                                    &M::avg_turnaround_from_start_s,
                                    &M::avg_run_s,
                                    &M::avg_slowdown,
                                    &M::p95_slowdown,
                                    &M::makespan_s,
                                    &M::makespan_from_start_s,
                                    &M::p95_finish_time_fairness,
                                    &M::max_finish_time_fairness,
                                    &M::unfair_jobs_pct,
                                    &M::jain_fairness};
  for (double M::*figure : of_jobs) m.*figure = no_figure;
}

// The least a job needs, however it is treated, on the GPUs it may have: time, and work, in seconds of a GPU of speed 1.
struct Least {
  double seconds, work;
};

// The world keeps speeds as floats (sim/trainings.h), some of them rounded up: a bound of exact ones could be beaten.
double in_the_world(double speed) { return static_cast<float>(speed); }

// At the speeds that were measured.
Least least_measured(const sim::Behaviour& known, const trace::TraceJob& job, const trace::TraceDetails& details,
                     int low, int high, const sim::Cluster& cluster) {
  const double reference = known.reference_steps_per_s(job.gpus, job.gpus > cluster.gpus_per_server_max());
  constexpr double tenants = 2;  // of a GPU that trainings share, at a time (sim/speeds.cpp)
  Least best = {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
  for (std::size_t kind = 0; kind < cluster.kinds.size(); ++kind) {
    const double kept = details.gpu_share < 1 ? known.most_kept(kind) : 1;
    const double share = details.gpu_share < 1 ? std::min(details.gpu_share, 1 / tenants) : 1;
    for (int gpus = low; gpus <= high; ++gpus) {
      const double fastest = std::max(known.steps_per_s(kind, gpus, false), known.steps_per_s(kind, gpus, true));
      const double seconds = job.duration.to_seconds() / in_the_world(fastest * kept / reference);
      best.seconds = std::min(best.seconds, seconds);
      best.work = std::min(best.work, seconds * gpus * share * cluster.kinds[kind].speed);
    }
  }
  return best;
}

Least least(const trace::Trace& trace, std::size_t index, const sim::Behaviours& behaviours,
            const sim::Cluster& cluster, double speed) {
  const trace::TraceJob& job = trace.jobs[index];
  if (job.gpus == 0) return {job.duration.to_seconds(), 0};  // the speeds of servers are those of their GPUs
  const double length = job.duration.to_seconds() / in_the_world(speed);
  const trace::TraceDetails* details = trace.details_of(job);
  if (!details) return {length, length * job.gpus * speed};
  const int low = details->gpus_min > 0 ? details->gpus_min : job.gpus, high = std::max(details->gpus_max, job.gpus);
  if (const sim::Behaviour* known = behaviours.of(index))
    return least_measured(*known, job, *details, low, high, cluster);
  Least best = {length, length * job.gpus * details->gpu_share * speed};
  const SpeedCurve& curve = details->model ? details->model->speed_curve : unmeasured_speed_curve;
  for (int gpus = low; gpus <= high; ++gpus) {
    const double seconds = length / in_the_world(curve.speed_on(gpus, job.gpus));
    best.seconds = std::min(best.seconds, seconds);
    best.work = std::min(best.work, seconds * gpus * details->gpu_share * speed);
  }
  return best;
}

// The mean completion time of shortest-remaining-work-first on one pool of `gpus` GPUs: optimal there, and the pool can
// do whatever servers can, so no schedule has a lower mean.
double pooled_mean_jct(const trace::Trace& trace, const std::vector<double>& work, double gpus) {
  std::vector<std::pair<double, double>> waiting;  // remaining GPU-seconds, submitted: a heap, least first
  const std::greater<> later;
  double now = 0, sum = 0;
  std::size_t next = 0;
  while (next < trace.jobs.size() || !waiting.empty()) {
    const double arrival =
        next < trace.jobs.size() ? trace.jobs[next].submitted.to_seconds() : std::numeric_limits<double>::infinity();
    const double end = waiting.empty() ? std::numeric_limits<double>::infinity() : now + waiting.front().first / gpus;
    if (end <= arrival) {
      std::pop_heap(waiting.begin(), waiting.end(), later);
      sum += end - waiting.back().second;
      waiting.pop_back();
      now = end;
      continue;
    }
    // It has less left now, so it stays first.
    if (!waiting.empty()) waiting.front().first -= (arrival - now) * gpus;
    now = arrival;
    waiting.emplace_back(work[next++], arrival);
    std::push_heap(waiting.begin(), waiting.end(), later);
  }
  return sum / static_cast<double>(trace.jobs.size());
}

}  // namespace

double finish_time_fairness(double jct_s, double length_s, int gpus, double contenders, double gpus_total) {
  if (length_s <= 0) return no_figure;
  const double alone = length_s * std::max(1.0, gpus * contenders / gpus_total);
  return jct_s / std::max(alone, 1e-6);
}

Metrics measure(const trace::Trace& trace, const sim::SimulationResult& result, const sim::Cluster& cluster) {
  Metrics m;
  Instant last = trace.jobs.front().submitted, first_start = Instant::never();
  double run = 0, total_wait = 0, from_start = 0;
  for (std::size_t i = 0; i < trace.jobs.size(); ++i) {
    const sim::Outcome& outcome = result.outcomes[i];
    m.preemptions += outcome.preemptions, m.resizes += outcome.resizes;
    m.migrations += outcome.migrations, m.failures += outcome.failures;
    if (outcome.started.happened()) first_start = std::min(first_start, outcome.started);
    if (!outcome.finished.happened()) continue;
    run += outcome.run.to_seconds();
    total_wait += (outcome.finished - trace.jobs[i].submitted).to_seconds() - outcome.run.to_seconds();
    from_start += (outcome.finished - outcome.started).to_seconds();
    last = std::max(last, outcome.finished);
  }
  std::vector<double> values;
  measure_fairness(m, trace, result, cluster.gpus(), values);
  measure_times(m, trace, result, values);
  m.jobs = static_cast<double>(values.size());
  m.unfinished = static_cast<double>(result.unfinished), m.failed = static_cast<double>(result.failed);
  m.idle_at_end_s = result.idle_at_end.to_seconds();
  const double n = std::max(1.0, m.jobs);
  m.avg_run_s = run / n, m.avg_total_wait_s = total_wait / n, m.avg_turnaround_from_start_s = from_start / n;
  m.makespan_s = (last - trace.jobs.front().submitted).to_seconds();
  if (!first_start.is_never()) m.makespan_from_start_s = std::max(0.0, (last - first_start).to_seconds());
  measure_deadlines(m, trace, result);
  measure_gpus(m, result, cluster, trace.jobs.front().submitted);
  if (m.jobs == 0) measure_nothing(m);
  m.server_losses = static_cast<double>(result.server_losses);
  m.decisions = static_cast<double>(result.decisions);
  m.decisions_refused = static_cast<double>(result.decisions_refused);
  return m;
}

LowerBounds lower_bounds(const trace::Trace& trace, const sim::Cluster& cluster) {
  LowerBounds bounds;
  double work = 0, alone = 0;
  std::vector<double> works;
  works.reserve(trace.jobs.size());
  const double speed = cluster.speed_max();
  const sim::Behaviours behaviours(trace, cluster);
  for (std::size_t i = 0; i < trace.jobs.size(); ++i) {
    const Least needs = least(trace, i, behaviours, cluster, speed);
    works.push_back(needs.work);
    work += needs.work;
    alone += needs.seconds;
    const double arrives_s = (trace.jobs[i].submitted - trace.jobs.front().submitted).to_seconds();
    bounds.makespan_s = std::max(bounds.makespan_s, arrives_s + needs.seconds);
  }
  bounds.makespan_s = std::max(bounds.makespan_s, work / cluster.gpu_speed_total());
  bounds.avg_jct_s = std::max(alone / static_cast<double>(trace.jobs.size()),
                              pooled_mean_jct(trace, works, cluster.gpu_speed_total()));
  return bounds;
}

std::span<const MetricInfo> metric_infos() {
  using M = Metrics;
  static constexpr MetricInfo infos[] = {
      {"jobs", &M::jobs, "finished jobs", "jobs that ran to their end", true},
      {"unfinished", &M::unfinished, "unfinished jobs", "jobs that never ran to their end"},
      {"failed", &M::failed, "failed jobs", "jobs that failed for good or were rejected"},
      {"idle_at_end_s", &M::idle_at_end_s, "idle at the end (s)",
       "how long the cluster stood idle before the simulation gave up on unfinished jobs"},
      {"avg_wait_s", &M::avg_wait_s, "mean wait (s)", "first start - submission"},
      {"p95_wait_s", &M::p95_wait_s, "95th percentile of the wait (s)", "first start - submission"},
      {"avg_total_wait_s", &M::avg_total_wait_s, "mean time not running (s)", "JCT - time on GPUs"},
      {"avg_jct_s", &M::avg_jct_s, "mean job completion time (s)", "finish - submission"},
      {"p50_jct_s", &M::p50_jct_s, "median job completion time (s)", "finish - submission"},
      {"p95_jct_s", &M::p95_jct_s, "95th percentile of job completion time (s)", "finish - submission"},
      {"p99_jct_s", &M::p99_jct_s, "99th percentile of job completion time (s)", "finish - submission"},
      {"avg_turnaround_from_start_s", &M::avg_turnaround_from_start_s, "mean turnaround from the start (s)",
       "finish - first start"},
      {"avg_run_s", &M::avg_run_s, "mean time on GPUs (s)", "time it ran, in all attempts"},
      {"avg_slowdown", &M::avg_slowdown, "mean slowdown", "JCT / length alone, counted as at least 10 s; at least 1"},
      {"p95_slowdown", &M::p95_slowdown, "95th percentile of the slowdown",
       "JCT / length alone, counted as at least 10 s"},
      {"makespan_s", &M::makespan_s, "makespan (s)", "last finish - first submission"},
      {"makespan_from_start_s", &M::makespan_from_start_s, "makespan from the first start (s)",
       "last finish - first start"},
      {"gpu_allocation_pct", &M::gpu_allocation_pct, "GPU allocation (%)",
       "GPU time held by jobs / (GPUs * makespan; if jobs failed, until the last GPU was given back)", true},
      {"gpu_utilization_pct", &M::gpu_utilization_pct, "GPU utilization (%)",
       "as GPU allocation, without restarts and work done twice", true},
      {"goodput_pct", &M::goodput_pct, "goodput (%)", "fraction of the jobs' GPU time whose work was kept", true},
      {"fragmentation_pct", &M::fragmentation_pct, "fragmentation (%)",
       "fraction of the free GPU time that is not on the server with the most free GPUs"},
      {"demand_fragmentation_pct", &M::demand_fragmentation_pct, "fragmentation by demand (%)",
       "fraction of the free GPU time on servers with too few free GPUs for a job of the trace"},
      {"p95_finish_time_fairness", &M::p95_finish_time_fairness, "95th percentile of finish-time fairness",
       "JCT / length with an equal share of the GPUs; fair up to 1"},
      {"max_finish_time_fairness", &M::max_finish_time_fairness, "largest finish-time fairness",
       "JCT / length with an equal share of the GPUs; fair up to 1"},
      {"unfair_jobs_pct", &M::unfair_jobs_pct, "unfairly treated jobs (%)", "finish-time fairness above 1.1"},
      {"jain_fairness", &M::jain_fairness, "Jain index", "of 1 / finish-time fairness; 1: all equal", true},
      {"deadline_hit_pct", &M::deadline_hit_pct, "deadlines met (%)", "of all jobs that have one", true},
      {"avg_lateness_s", &M::avg_lateness_s, "mean lateness (s)", "finish - deadline"},
      {"avg_tardiness_s", &M::avg_tardiness_s, "mean tardiness (s)", "finish - deadline, early as 0"},
      {"preemptions", &M::preemptions, "preemptions", "stops and suspensions for others"},
      {"resizes", &M::resizes, "resizes", "changes of a running job's GPUs"},
      {"migrations", &M::migrations, "migrations", "moves of a running job"},
      {"failures", &M::failures, "failed attempts", "by a lost server or by the job"},
      {"gpu_s_lost", &M::gpu_s_lost, "GPU time lost (s)", "stops, restarts and work done twice"},
      {"server_losses", &M::server_losses, "lost servers", "planned and random losses"},
      {"decisions", &M::decisions, "decisions", "times the policy was asked, at most"},
      {"decisions_refused", &M::decisions_refused, "refused decisions", "decisions that broke a rule of the cluster"},
  };
  return infos;
}

}  // namespace sl::study
