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
  request.servers_chosen = ServerChoice(details.on, details.not_on);
}

}  // namespace

Prerequisite::Prerequisite(const trace::Trace& trace) : trace_(trace) {
  for (const trace::TraceDetails& details : trace.details) {
    for (const std::string& id : details.after) jobs_.try_emplace(id);
  }
  for (std::size_t i = 0; !jobs_.empty() && i < trace.jobs.size(); ++i) {
    if (const auto at = jobs_.find(trace.jobs[i].id()); at != jobs_.end())
      at->second = JobId(static_cast<std::int64_t>(i) + 1);
  }
  for (std::size_t i = 0; !jobs_.empty() && i < trace.jobs.size(); ++i) {
    const trace::TraceDetails* details = trace.details_of(trace.jobs[i]);
    const auto at = details ? jobs_.find(details->array) : jobs_.end();
    if (at != jobs_.end() && !at->second.valid()) at->second = group_of(trace, i);
  }
}

std::shared_ptr<const Prerequisites> Prerequisite::of(const trace::TraceJob& job) const {
  const trace::TraceDetails* details = trace_.details_of(job);
  if (!details || details->after.empty()) return nullptr;
  Prerequisites made;
  for (const std::string& id : details->after) {
    if (const JobId on = jobs_.at(id); on.valid()) made.after.push_back(on);  // else it was left out
  }
  return std::make_shared<const Prerequisites>(std::move(made));
}

Requests::Requests(const trace::Trace& trace, const Cluster& cluster) : trace_(trace), cluster_(cluster) {
  const std::vector<ServerDescription> servers = cluster.descriptions();
  widest_.reserve(trace.details.size());
  for (const trace::TraceDetails& details : trace.details) widest_.push_back(widest_for(details, servers));
}

int Requests::widest_for(const trace::TraceDetails& details, const std::vector<ServerDescription>& servers) const {
  const ServerChoice chosen(details.on, details.not_on);
  if (cluster_.is_pool || (details.gpu_types.empty() && chosen.is_any())) return cluster_.gpus_per_server_max();
  int widest = 0;
  auto server = servers.begin();
  for (const ServerKind& kind : cluster_.kinds) {
    const auto end = server + kind.count;
    const bool is_of_type = details.gpu_types.empty() || std::ranges::count(details.gpu_types, kind.gpu_type) > 0;
    if (is_of_type && kind.gpus > widest && std::any_of(server, end, [&](const auto& s) { return chosen.allows(s); }))
      widest = kind.gpus;
    server = end;
  }
  return widest;
}

JobRequest Requests::of(const trace::TraceJob& job) const {
  JobRequest request;
  request.submitted = job.submitted;
  request.gpus = request.gpus_min = request.gpus_max = job.gpus;
  request.capability = Capability::checkpoint;
  const trace::TraceDetails* details = trace_.details_of(job);
  if (details) add(*details, cluster_.gpus(), request);
  if (!request.needs_gpus() && request.demand[Resource::cpu] == 0) request.demand[Resource::cpu] = cpus_without_gpus;
  const int widest = details ? widest_[job.details] : cluster_.gpus_per_server_max();
  request.servers_max = !cluster_.is_pool && request.gpus_max <= widest ? 1 : any_number_of_servers;
  return request;
}

bool Prerequisite::is_missed(const trace::TraceJob& job, const Core& core) const {
  const auto prerequisites = failed_.empty() ? nullptr : of(job);
  return prerequisites && std::ranges::any_of(prerequisites->after, [&](JobId id) {
           if (!failed_.contains(id)) return false;
           const JobIndex index = core.find(id);
           return !index.valid() || is_finished(core.job(index).state);
         });
}

void set_demand(JobRequest& request, const Cluster& cluster) {
  if (cluster.is_pool) request.demand = {}, request.servers_chosen = {};
  if (cluster.is_pool || roles_of(request).empty()) return;
  request.demand = Demand(request).of_ranks(0, request.gpus, request.gpus);
  if (!request.demand.is_zero()) request.servers_max = any_number_of_servers;
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

namespace {

ServerTable servers_of(const Cluster& cluster, Names<GpuTypeIndex>& gpu_types) {
  ServerTable servers;
  const std::vector<ServerDescription> descriptions = cluster.descriptions();
  for (const ServerKind& kind : cluster.kinds) {
    for (int i = 0; i < kind.count; ++i) {
      Server server;
      server.description = descriptions[servers.size()];
      if (!kind.gpu_type.empty()) server.description.gpu_type = gpu_types.intern(kind.gpu_type);
      servers.push_back(std::move(server));
    }
  }
  return servers;
}

}  // namespace

std::map<Lack, Impossible> leave_out_impossible(trace::Trace& trace, const Cluster& cluster) {
  Names<GpuTypeIndex> gpu_types;
  const ServerTable servers = servers_of(cluster, gpu_types);
  const Requests requests(trace, cluster);
  std::map<std::pair<std::uint32_t, int>, Verdict> known;  // details, GPUs
  std::map<Lack, Impossible> impossible;
  const auto verdict_on = [&](const trace::TraceJob& job) {
    const trace::TraceDetails* details = trace.details_of(job);
    const auto [at, is_new] = known.try_emplace({job.details, job.gpus});
    if (!is_new) return at->second;
    JobRequest request = requests.of(job);
    if (details) {
      request.model = details->model;
      for (const std::string& type : details->gpu_types) request.gpu_types.push_back(gpu_types.intern(type));
    }
    set_demand(request, cluster);
    return at->second = could_ever_run(servers, request, request.gpus_min);
  };
  std::size_t kept = 0;
  for (const trace::TraceJob& job : trace.jobs) {
    const Verdict verdict = verdict_on(job);
    if (verdict.possible()) {
      trace.jobs[kept++] = job;
      continue;
    }
    Impossible& such = impossible[verdict.lack];
    if (such.jobs++ == 0) such.first = job.id(), such.why = verdict;
  }
  trace.jobs.resize(kept);
  return impossible;
}

MissingFacts missing_facts(const trace::Trace& trace, const Cluster& cluster, bool knows_durations) {
  std::map<std::pair<std::uint32_t, int>, std::pair<const trace::TraceJob*, std::size_t>> alike;  // details, GPUs
  for (const trace::TraceJob& job : trace.jobs) {
    auto& [first, count] = alike[{job.details, job.gpus}];
    first = &job;
    ++count;
  }
  MissingFacts missing;
  const Requests requests(trace, cluster);
  ToldModels models(knows_durations);
  Names<GpuTypeIndex> gpu_types;
  for (const auto& [key, jobs] : alike) {
    JobRequest request = requests.of(*jobs.first);
    if (const trace::TraceDetails* details = trace.details_of(*jobs.first))
      request.model = models.of(*details, gpu_types);
    set_demand(request, cluster);
    if (knows_durations) request.estimate = jobs.first->duration;
    missing.count(request, jobs.second);
  }
  return missing;
}

}  // namespace sl::sim
