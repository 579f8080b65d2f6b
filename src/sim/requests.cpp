#include "sim/requests.h"

#include <algorithm>
#include <map>

namespace sl::sim {
namespace {

void add(const TraceDetails& details, int cluster_gpus, JobRequest& request) {
  request.estimate = details.estimate;
  request.deadline = details.deadline;
  request.priority = details.priority;
  if (details.gpus_min > 0) request.gpus_min = std::min(details.gpus_min, request.gpus);
  if (details.gpus_max > 0) request.gpus_max = std::max(details.gpus_max, request.gpus);
  request.gpus_max = std::max(request.gpus, std::min(request.gpus_max, cluster_gpus));
  request.shareable = details.gpu_share < 1;
  request.demand = details.demand;
  request.model = details.model;
}

}  // namespace

JobRequest request_of(const Trace& trace, const TraceJob& job, const Cluster& cluster) {
  JobRequest request;
  request.submitted = job.submitted;
  request.gpus = request.gpus_min = request.gpus_max = job.gpus;
  request.capability = Capability::checkpoint;
  if (const TraceDetails* details = trace.details_of(job)) add(*details, cluster.gpus(), request);
  request.single_server = request.gpus_max <= cluster.gpus_per_server_max();
  return request;
}

MissingFacts missing_facts(const Trace& trace, const Cluster& cluster, bool knows_durations) {
  std::map<std::pair<std::uint32_t, int>, std::pair<const TraceJob*, std::size_t>> alike;  // details, GPUs
  for (const TraceJob& job : trace.jobs) {
    auto& [first, count] = alike[{job.details, job.gpus}];
    first = &job;
    ++count;
  }
  MissingFacts missing;
  for (const auto& [key, jobs] : alike) {
    JobRequest request = request_of(trace, *jobs.first, cluster);
    if (knows_durations) request.estimate = jobs.first->duration;
    missing.count(request, jobs.second);
  }
  return missing;
}

}  // namespace sl::sim
