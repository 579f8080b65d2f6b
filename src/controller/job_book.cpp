#include "controller/job_book.h"

#include <fmt/format.h>

#include <charconv>

#include "wire/json.h"

namespace sl::controller {
namespace {

std::string gpu_list(GpuSet gpus) {
  std::string text;
  gpus.for_each([&](int gpu) { text += (text.empty() ? "" : ",") + std::to_string(gpu); });
  return text;
}

GpuSet parse_gpu_list(std::string_view text) {
  GpuSet gpus;
  while (!text.empty()) {
    int gpu = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), gpu);
    if (error != std::errc() || gpu < 0 || gpu >= GpuSet::capacity) break;
    gpus |= GpuSet::only(gpu);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (!text.empty()) text.remove_prefix(1);
  }
  return gpus;
}

std::optional<std::int64_t> optional_us(Instant t) { return t.happened() ? std::optional(t.us) : std::nullopt; }
Instant instant(const std::optional<std::int64_t>& us) { return us ? Instant{*us} : Instant{}; }

}  // namespace

JobEntry& JobBook::add(store::JobRow row) {
  const JobId id(row.id);
  JobEntry& entry = entries_[id];
  entry.row = std::move(row);
  return entry;
}

JobEntry* JobBook::find(JobId job) {
  const auto at = entries_.find(job);
  return at == entries_.end() ? nullptr : &at->second;
}

const JobEntry* JobBook::find(JobId job) const { return const_cast<JobBook*>(this)->find(job); }

void JobBook::mark_finished(JobId job) {
  finished_.push_back(job);
  while (finished_.size() > finished_max_) {
    entries_.erase(finished_.front());
    finished_.pop_front();
  }
}

JobRequest make_request(const wire::JobSpec& spec, JobId id, Instant submitted, Core& core) {
  JobRequest request;
  request.id = id;
  request.submitted = submitted;
  request.gpus_min = spec.gpus.min;
  request.gpus_max = spec.gpus.max;
  request.gpus = spec.gpus.max;
  request.single_server = spec.servers == 1;
  request.priority = spec.priority;
  request.capability = spec.checkpoint.dir ? Capability::checkpoint : Capability::none;
  request.preemptible = spec.preemptible;
  request.migratable = spec.migratable;
  request.user = core.users().intern(spec.user);
  request.family = core.families().intern(spec.name);
  if (spec.deadline_s) request.deadline = submitted + Duration::seconds(*spec.deadline_s);
  if (spec.estimate_s) request.estimate = Duration::seconds(*spec.estimate_s);
  if (spec.time_limit_s) request.time_limit = Duration::seconds(*spec.time_limit_s);
  if (spec.resources.cpus) request.demand[Resource::cpu] = *spec.resources.cpus;
  if (spec.resources.memory_bytes) request.demand[Resource::memory] = static_cast<double>(*spec.resources.memory_bytes);
  request.gpu_memory_bytes = spec.resources.gpu_memory_bytes;
  for (const std::string& type : spec.resources.gpu_type) request.gpu_types.push_back(core.gpu_types().intern(type));
  return request;
}

void copy_state(const Core& core, const Job& job, store::JobRow& row) {
  row.state = to_string(job.state);
  row.state_since_us = job.state_since.us;
  row.first_start_us = optional_us(job.first_start);
  row.last_start_us = optional_us(job.last_start);
  if (is_finished(job.state)) row.finished_us = job.state_since.us;
  row.attempt = job.attempt;
  row.run_us = job.run.us;
  row.attained_gpu_us = job.attained_gpu_us;
  row.preemptions = job.preemptions;
  row.migrations = job.migrations;
  row.resizes = job.resizes;
  row.failures = job.failures;
  row.priority = job.request.priority;
  row.held = job.state == JobState::held;
  row.cancel_requested = job.cancel_requested;
  row.annotation = job.annotation;
  if (job.allocation.empty()) {
    if (!is_finished(job.state)) row.server.clear(), row.gpus.clear();
    return;
  }
  const ServerGpus& part = job.allocation.parts().front();
  row.server = core.servers()[part.server].description.name;
  row.gpus = gpu_list(part.gpus);
}

Result<RestoredJob> restore_job(const store::JobRow& row, Core& core) {
  Result<wire::JobSpec> spec = wire::read_json<wire::JobSpec>(row.spec_json, wire::Unknown::ignore);
  if (!spec.ok()) return spec.error();
  const auto state = parse_job_state(row.state);
  if (!state) return internal_error("bad-row", fmt::format("job {} has the unknown state {}", row.id, row.state));
  RestoredJob restored;
  Job& job = restored.job;
  job.request = make_request(*spec, JobId(row.id), Instant{row.submitted_us}, core);
  job.request.priority = row.priority;
  job.state = *state;
  job.state_since = job.waiting_since = job.accounted = Instant{row.state_since_us};
  job.first_start = instant(row.first_start_us);
  job.last_start = instant(row.last_start_us);
  job.attempt = row.attempt;
  job.run = Duration{row.run_us};
  job.attained_gpu_us = row.attained_gpu_us;
  job.preemptions = row.preemptions;
  job.migrations = row.migrations;
  job.resizes = row.resizes;
  job.failures = row.failures;
  job.cancel_requested = row.cancel_requested;
  job.annotation = row.annotation;
  if (is_active(*state) && !row.server.empty()) {
    const ServerIndex server = core.find_server(row.server);
    if (!server.valid())
      return internal_error("bad-row", fmt::format("job {} runs on the unknown server {}", row.id, row.server));
    job.allocation = Allocation(server, parse_gpu_list(row.gpus));
    job.last_server = server;
  }
  return restored;
}

}  // namespace sl::controller
