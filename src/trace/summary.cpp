#include "trace/summary.h"

#include <algorithm>
#include <cmath>

#include "base/statistics.h"
#include "trace/profiles.h"

namespace sl::trace {
namespace {

void count_details(const TraceDetails& details, const TraceJob& job, TraceSummary& summary) {
  summary.with_deadline += !details.deadline.is_never();
  summary.with_estimate += details.estimate.has_value();
  summary.elastic += (details.gpus_min > 0 && details.gpus_min < job.gpus) || details.gpus_max > job.gpus;
  summary.sharing += details.gpu_share < 1;
  summary.with_profile += (details.profile || (details.model && !profile_name(*details.model).empty()));
}

// Nearest rank.
std::vector<std::pair<double, double>> percentiles(std::vector<Duration>& durations) {
  std::sort(durations.begin(), durations.end());
  std::vector<std::pair<double, double>> list;
  for (const double percent : {0.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 100.0}) {
    list.emplace_back(percent, durations[nearest_rank(percent / 100, durations.size())].to_seconds());
  }
  return list;
}

}  // namespace

TraceSummary summarize(const Trace& trace) {
  TraceSummary summary;
  std::vector<Duration> durations;
  std::vector<bool> users(trace.users.size());
  double duration_s = 0;
  for (const TraceJob& job : trace.jobs) {
    WidthShare& width = summary.by_gpus[job.gpus];
    ++width.jobs;
    width.gpu_s += job.gpus * job.duration.to_seconds();
    summary.gpu_s += job.gpus * job.duration.to_seconds();
    duration_s += job.duration.to_seconds();
    durations.push_back(job.duration);
    if (job.user > 0) users[job.user] = true;
    if (const TraceDetails* details = trace.details_of(job)) count_details(*details, job, summary);
  }
  summary.jobs = static_cast<std::int64_t>(trace.jobs.size());
  summary.users = std::count(users.begin(), users.end(), true);
  summary.first_s = trace.jobs.front().submitted.to_seconds();
  summary.last_s = trace.jobs.back().submitted.to_seconds();
  summary.duration_mean_s = duration_s / static_cast<double>(summary.jobs);
  if (summary.jobs > 1) summary.gap_mean_s = summary.span_s() / static_cast<double>(summary.jobs - 1);
  summary.durations_s = percentiles(durations);
  return summary;
}

double offered_load(const Trace& trace, double gpus) {
  double gpu_s = 0;
  for (const TraceJob& job : trace.jobs) gpu_s += job.gpus * job.duration.to_seconds();
  const double span_s = (trace.jobs.back().submitted - trace.jobs.front().submitted).to_seconds();
  return span_s > 0 ? gpu_s / span_s / gpus : 0;
}

bool set_load(Trace& trace, double gpus, double load) {
  const double before = offered_load(trace, gpus);
  if (before == 0) return false;
  const Instant first = trace.jobs.front().submitted;
  std::map<std::pair<std::uint32_t, std::int64_t>, std::uint32_t> moved;  // (details, by how much later) -> their copy
  for (TraceJob& job : trace.jobs) {
    const Instant at = first + Duration::seconds((job.submitted - first).to_seconds() * (before / load));
    const Duration later = at - job.submitted;
    job.submitted = at;
    const TraceDetails* details = trace.details_of(job);
    if (!details || details->deadline.is_never()) continue;
    const auto [copy, is_new] =
        moved.try_emplace({job.details, later.us}, static_cast<std::uint32_t>(trace.details.size()));
    if (is_new) {
      trace.details.push_back(TraceDetails(*details));
      trace.details.back().deadline = trace.details.back().deadline + later;
    }
    job.details = copy->second;
  }
  return true;
}

}  // namespace sl::trace
