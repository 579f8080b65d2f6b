#include "controller/job_book.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "controller/telemetry.h"
#include "wire/job_spec_text.h"
#include "wire/json.h"
#include "wire/members.h"
#include "wire/profile.h"

namespace sl::controller {
namespace {

std::optional<std::int64_t> optional_us(Instant t) { return t.happened() ? std::optional(t.us) : std::nullopt; }
Instant instant(const std::optional<std::int64_t>& us) { return us ? Instant{*us} : Instant{}; }

}  // namespace

JobEntry& JobBook::add(store::JobRow row) {
  const JobId id(row.id);
  JobEntry& entry = entries_[id];
  entry.row = std::move(row);
  entry.bytes = entry.row.spec_json.size();
  if (entry.bytes > 0) bytes_[entry.row.user] += entry.bytes;
  return entry;
}

void JobBook::stop_counting(const JobEntry& entry) {
  if (entry.is_retired || entry.bytes == 0) return;
  const auto user = bytes_.find(entry.row.user);
  if ((user->second -= entry.bytes) == 0) bytes_.erase(user);
}

void JobBook::recount(JobEntry& entry) {
  stop_counting(entry);
  entry.bytes = entry.row.spec_json.size();
  if (!entry.is_retired) bytes_[entry.row.user] += entry.bytes;
}

void JobBook::forget(JobId job) {
  const JobEntry* entry = find(job);
  if (!entry) return;
  stop_counting(*entry);
  if (entry->is_retired) retired_bytes_ -= entry->bytes;
  entries_.erase(job);
}

JobEntry* JobBook::find(JobId job) {
  const auto at = entries_.find(job);
  return at == entries_.end() ? nullptr : &at->second;
}

const JobEntry* JobBook::find(JobId job) const { return const_cast<JobBook*>(this)->find(job); }

void JobBook::retire(JobId job) {
  JobEntry* entry = find(job);
  if (!entry || entry->is_retired) return;
  stop_counting(*entry);
  entry->is_retired = true;
  entry->measured.reset();
  entry->spec.reset();
  retired_.push_back(job);
  ++retired_ever_;
  retired_bytes_ += entry->bytes;
  for (; retired_.size() > retired_max_ || retired_bytes_ > retired_bytes_max_; retired_.pop_front(), ++left_ever_)
    forget(retired_.front());
}

const JobEntry* JobBook::newest_below(JobId before) const {
  const auto above = entries_.lower_bound(before);
  return above == entries_.begin() ? nullptr : &std::prev(above)->second;
}

const JobEntry* JobBook::oldest_above(JobId after) const {
  const auto above = entries_.upper_bound(after);
  return above == entries_.end() ? nullptr : &above->second;
}

store::JobRow new_row(const wire::JobSpec& spec, JobId id, Instant now) {
  store::JobRow row;
  row.id = id.value;
  row.user = spec.user;
  row.name = spec.name;
  row.spec_json = wire::spec_text(spec);
  row.state = to_string(spec.hold ? JobState::held : JobState::pending);
  row.submitted_us = row.state_since_us = now.us;
  return row;
}

store::JobRow member_row(const store::JobRow& group, JobId member) {
  const auto spec = wire::read_json<wire::JobSpec>(group.spec_json, wire::Unknown::ignore);
  SL_CHECK(spec.ok(), "stored submissions can be read");
  const std::int64_t place = member.value - member_id(JobId(group.id), 0).value;
  store::JobRow row = new_row(wire::member_spec(*spec, group.id, place), member, Instant{group.submitted_us});
  row.group_id = group.id;
  row.member_index = wire::member_index(*spec, place);
  return row;
}

std::string members_text(const Group& group) {
  boost::json::object text;
  if (!group.to_come.empty()) text["to_come"] = group.to_come.text();
  for (std::size_t s = 0; s < group.by_state.size(); ++s) {
    if (group.by_state[s] != 0) text[to_string(static_cast<JobState>(s))] = group.by_state[s];
  }
  return boost::json::serialize(text);
}

bool read_members_text(const std::string& text, Group& group) {
  if (text.empty()) return group.to_come = NumberRanges::below(group.size), true;  // none has come up
  boost::json::error_code error;
  const boost::json::value value = boost::json::parse(text, error);
  if (error || !value.is_object()) return false;
  for (const auto& [key, part] : value.get_object()) {
    if (key == "to_come") {
      const auto places = part.is_string() ? NumberRanges::parse(std::string_view(part.get_string())) : std::nullopt;
      if (!places) return false;
      group.to_come = *places;
      continue;
    }
    const auto state = parse_job_state(key);
    if (!state || !part.is_int64() || part.get_int64() < 0) return false;
    group.in(*state) = part.get_int64();
  }
  return true;
}

const wire::JobSpec& spec_of(const JobEntry& entry) {
  if (!entry.spec) {
    auto spec = wire::read_json<wire::JobSpec>(entry.row.spec_json, wire::Unknown::ignore);
    SL_CHECK(spec.ok(), "stored submissions can be read");
    entry.spec = std::make_unique<const wire::JobSpec>(std::move(*spec));
  }
  return *entry.spec;
}

namespace {

// in the order of the enumerators
constexpr const char* stop_reasons[] = {"none", "cancelled", "preempted", "time_limit", "target_met"};

}  // namespace

const char* stop_reason_text(StopReason reason) { return stop_reasons[static_cast<std::size_t>(reason)]; }

StopReason parse_stop_reason(std::string_view text) {
  const auto* at = std::find(std::begin(stop_reasons), std::end(stop_reasons), text.substr(0, text.find(':')));
  return at == std::end(stop_reasons) ? StopReason::none : static_cast<StopReason>(at - stop_reasons);
}

std::string stop_text(StopReason reason, const std::string& with) {
  return stop_reason_text(reason) + (with.empty() ? "" : ":" + with);
}

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

namespace {

const std::string& family_of(const wire::JobSpec& spec) {
  return spec.training.family ? *spec.training.family : spec.name;
}

std::shared_ptr<const Prerequisites> make_prerequisites(const wire::JobSpec& spec) {
  if (spec.after.empty() && spec.after_any.empty() && !spec.not_before) return nullptr;
  auto prerequisites = std::make_shared<Prerequisites>();
  for (const std::int64_t id : spec.after) prerequisites->after.emplace_back(id);
  for (const std::int64_t id : spec.after_any) prerequisites->after_any.emplace_back(id);
  if (spec.not_before) {
    if (const auto us = wire::parse_time_us(*spec.not_before); us.ok()) prerequisites->not_before = Instant{*us};
  }
  return prerequisites;
}

// What the profile of its family and past interruptions tell, overridden by what the job states. Null if nothing is known.
std::shared_ptr<const JobModel> make_model(const wire::JobSpec& spec, const wire::TrainingProfile* profile,
                                           const wire::FamilyCosts* costs, Core& core) {
  auto model = std::make_shared<JobModel>();
  if (profile) *model = wire::job_model_of(*profile, core.gpu_types());
  if (costs && costs->has_restart()) model->restart_cost = Duration::seconds(costs->restart_s());
  wire::tell(spec.training, *model);
  model->roles = wire::to_model(spec.roles);
  model->gpu_counts_allowed = spec.gpus.allowed;
  return *model == JobModel{} ? nullptr : model;
}

}  // namespace

JobRequest make_request(const wire::JobSpec& spec, JobId id, Instant submitted, const ProfileBook& profiles,
                        Core& core) {
  JobRequest request;
  request.id = id;
  request.submitted = submitted;
  request.gpus_min = spec.gpus.min;
  request.gpus_max = spec.gpus.max;
  request.gpus = spec.gpus.max;
  request.servers_max = spec.servers;
  request.priority = spec.priority;
  request.capability = spec.checkpoint.dir ? Capability::checkpoint
                       : spec.freeze       ? Capability::freeze
                                           : Capability::none;
  request.freezable = spec.freeze;
  request.preemptible = spec.preemptible;
  request.migratable = spec.migratable;
  request.user = core.users().intern(spec.user);
  request.family = core.families().intern(family_of(spec));
  if (spec.deadline_s) request.deadline = submitted + Duration::seconds(*spec.deadline_s);
  if (spec.estimate_s) request.estimate = Duration::seconds(*spec.estimate_s);
  if (spec.time_limit_s) request.time_limit = Duration::seconds(*spec.time_limit_s);
  if (spec.resources.cpus) request.demand[Resource::cpu] = *spec.resources.cpus;
  if (spec.resources.memory_bytes) request.demand[Resource::memory] = static_cast<double>(*spec.resources.memory_bytes);
  if (!request.needs_gpus() && request.demand[Resource::cpu] == 0) request.demand[Resource::cpu] = cpus_without_gpus;
  request.gpu_memory_bytes = spec.resources.gpu_memory_bytes;
  for (const std::string& type : spec.resources.gpu_type) request.gpu_types.push_back(core.gpu_types().intern(type));
  request.needs_containers = spec.image.has_value();
  request.servers_chosen = ServerChoice(spec.resources.on, spec.resources.not_on);
  request.shareable = spec.resources.share;
  request.user_weight = spec.weight;
  request.prerequisites = make_prerequisites(spec);
  const wire::TrainingProfile* profile = profiles.find(family_of(spec));
  request.model = make_model(spec, profile, profiles.costs().find(family_of(spec)), core);
  if (profile && !request.estimate && request.needs_gpus()) {
    if (const auto seconds = wire::run_time_s(*profile, *request.model, request.gpus))
      request.estimate = Duration::seconds(*seconds);
  }
  return request;
}

std::vector<JobIndex> jobs_with_processes(const Core& core) {
  std::vector<JobIndex> jobs(core.all_active());
  for (const auto* queue : {&core.waiting(), &core.aside()}) {
    std::ranges::copy_if(*queue, std::back_inserter(jobs),
                         [&](JobIndex job) { return core.job(job).state == JobState::suspended; });
  }
  return jobs;
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
  row.held = job.on_hold;
  row.cancel_requested = job.cancel_requested;
  row.annotation = job.annotation;
  if (job.group) row.extra_json = members_text(*job.group);
  const Allocation& where = where_it_is(job);
  if (where.empty()) {
    if (!is_finished(job.state)) row.server.clear(), row.gpus.clear();
    return;
  }
  const ServerGpus& part = where.parts().front();
  row.server = core.servers()[part.server].description.name;
  // One that was frozen and is being stopped has given up its GPUs: others may have them.
  const bool has_given_up = job.state == JobState::stopping && job.allocation.empty();
  row.gpus = has_given_up ? "" : gpu_list(part.gpus);
}

namespace {

// the GPUs of the latest incarnation, unless that has ended
Result<Allocation> restore_allocation(const JobEntry& entry, bool needs_gpus, const Core& core) {
  Allocation allocation;
  for (const store::PlacementRow& row : entry.placements) {
    if (row.ended_us || row.incarnation != entry.placements.back().incarnation) continue;
    const ServerIndex server = core.find_server(row.server);
    if (!server.valid())
      return internal_error("bad-row", fmt::format("job {} runs on the unknown server {}", row.job_id, row.server));
    if (!needs_gpus) return Allocation(server, {});
    allocation.append(server, parse_gpu_list(row.gpus));
  }
  return allocation;
}

}  // namespace

Result<Job> restore_job(const JobEntry& entry, const ProfileBook& profiles, Core& core) {
  const store::JobRow& row = entry.row;
  Result<wire::JobSpec> spec = wire::read_json<wire::JobSpec>(row.spec_json, wire::Unknown::ignore);
  if (!spec.ok()) return spec.error();
  const auto state = parse_job_state(row.state);
  if (!state) return internal_error("bad-row", fmt::format("job {} has the unknown state {}", row.id, row.state));
  Job job;
  job.request = make_request(*spec, JobId(row.id), Instant{row.submitted_us}, profiles, core);
  job.request.priority = row.priority;
  if (row.group_id > 0) job.request.member_of = JobId(row.group_id);
  if (wire::is_group(*spec)) {
    job.group = std::make_unique<Group>();
    job.group->size = wire::member_count(*spec);
    job.group->first_member = member_id(job.request.id, 0);
    job.group->max_running = spec->max_running;
    const bool is_read = read_members_text(row.extra_json, *job.group);
    if (!is_read || job.group->to_come.at_or_above(job.group->size))
      return internal_error("bad-row", fmt::format("what is recorded of the members of job {} is damaged", row.id));
  }
  job.state = is_moving(*state) ? JobState::stopping : *state;  // where it was to go is not in the row
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
  job.on_hold = row.held;
  job.resumes = *state == JobState::starting && row.extra_json == resumes_text;
  job.annotation = row.annotation;
  job.telemetry = restore_telemetry(row.telemetry_json, core);
  if (is_active(*state)) {
    Result<Allocation> allocation = restore_allocation(entry, job.request.needs_gpus(), core);
    if (!allocation.ok()) return allocation.error();
    job.allocation = std::move(*allocation);
    if (!job.allocation.empty()) job.last_server = job.allocation.parts().front().server;
    // Of one without GPUs that is being stopped nothing says whether it was frozen: it is taken to hold its CPUs still.
    const bool has_none = row.gpus.empty() && job.request.needs_gpus();
    const bool has_given_up = *state == JobState::suspended || (*state == JobState::stopping && has_none);
    if (has_given_up) {
      job.frozen_on = std::make_unique<Allocation>(std::exchange(job.allocation, {}));
      if (job.frozen_on->empty()) return internal_error("bad-row", fmt::format("job {} is frozen on no GPU", row.id));
    }
  }
  if (*state == JobState::running && job.allocation.empty())
    return internal_error(
        "bad-row", fmt::format("job {} runs, but on no {}", row.id, job.request.needs_gpus() ? "GPU" : "server"));
  return job;
}

}  // namespace sl::controller
