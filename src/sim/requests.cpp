#include "sim/requests.h"

#include <algorithm>
#include <map>

#include "model/demand.h"

namespace sl::sim {
namespace {

void add(const trace::TraceDetails& details, int cluster_gpus, JobRequest& request) {
  request.estimate = details.estimate;
  request.deadline = details.deadline;
  request.priority = details.priority;
  if (details.gpus_min > 0) request.gpus_min = std::min(details.gpus_min, request.gpus);
  if (details.gpus_max > 0) request.gpus_max = std::max(details.gpus_max, request.gpus);
  request.gpus_max = std::max(request.gpus, std::min(request.gpus_max, cluster_gpus));
  request.shareable = details.gpu_share < 1;
  request.demand = details.demand;
}

}  // namespace

JobRequest request_of(const trace::Trace& trace, const trace::TraceJob& job, const Cluster& cluster) {
  JobRequest request;
  request.submitted = job.submitted;
  request.gpus = request.gpus_min = request.gpus_max = job.gpus;
  request.capability = Capability::checkpoint;
  if (const trace::TraceDetails* details = trace.details_of(job)) add(*details, cluster.gpus(), request);
  request.single_server = request.gpus_max <= cluster.gpus_per_server_max();
  return request;
}

void take_roles(JobRequest& request) {
  if (roles_of(request).empty()) return;
  request.demand = Demand(request).of_ranks(0, request.gpus, request.gpus);
  if (!request.demand.is_zero()) request.single_server = false;
}

std::shared_ptr<const JobModel> ToldModels::of(const trace::TraceDetails& details, Names<GpuTypeIndex>& gpu_types) {
  const bool as_it_is = !details.profile && measurements_;
  if (as_it_is || (!details.model && !details.profile)) return details.model;
  std::shared_ptr<const JobModel>& told = known_[{details.model.get(), details.profile.get()}];
  if (told) return told;
  JobModel model = details.model ? *details.model : JobModel{};
  if (!measurements_) return told = std::make_shared<const JobModel>(without_measurements(std::move(model)));
  return told = std::make_shared<const JobModel>(
             completed(std::move(model), wire::job_model_of(*details.profile, gpu_types)));
}

MissingFacts missing_facts(const trace::Trace& trace, const Cluster& cluster, bool knows_durations) {
  std::map<std::pair<std::uint32_t, int>, std::pair<const trace::TraceJob*, std::size_t>> alike;  // details, GPUs
  for (const trace::TraceJob& job : trace.jobs) {
    auto& [first, count] = alike[{job.details, job.gpus}];
    first = &job;
    ++count;
  }
  MissingFacts missing;
  ToldModels models(knows_durations);
  Names<GpuTypeIndex> gpu_types;
  for (const auto& [key, jobs] : alike) {
    JobRequest request = request_of(trace, *jobs.first, cluster);
    if (const trace::TraceDetails* details = trace.details_of(*jobs.first))
      request.model = models.of(*details, gpu_types);
    take_roles(request);
    if (knows_durations) request.estimate = jobs.first->duration;
    missing.count(request, jobs.second);
  }
  return missing;
}

}  // namespace sl::sim
