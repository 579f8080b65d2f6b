#include "controller/interventions.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "controller/explain.h"
#include "controller/orders.h"
#include "policy/placer.h"
#include "policy/resizing_policy.h"
#include "wire/job_spec_text.h"

namespace sl::controller {
namespace {

std::string range_text(const wire::GpuRange& range) {
  return range.min == range.max ? std::to_string(range.min) : fmt::format("{}..{}", range.min, range.max);
}

Error not_running(const Job& job, const std::string& id, const char* what) {
  const bool is_kept = job.state == JobState::suspended || job.state == JobState::held;
  return conflict("job-not-running", fmt::format("job {} is {}: {}", id, to_string(job.state), what))
      .hint((is_kept                          ? "schedulearn resume "
             : job.state == JobState::pending ? "see what it waits for: schedulearn why "
                                              : "see what it does: schedulearn show ") +
            id);
}

std::string id_of(const Job& job) { return std::to_string(job.request.id.value); }

}  // namespace

// ---- what is common ----

Result<Interventions::Planned> Interventions::plan(JobId id, const wire::Intervention& wanted) {
  JobEntry* entry = book_.find(id);
  if (!entry) return submissions_.no_job(id);
  const JobIndex index = core_.find(id);
  if (!index.valid() || is_finished(core_.job(index).state)) return already_ended(entry->row);
  const Subject subject{*entry, core_.job(index)};
  if (const Status may = may_still_change(*entry, subject.job); !may.ok()) return may.error();
  if (wanted.verb == "suspend") return suspend(subject);
  if (wanted.verb == "resume") return resume(subject);
  if (wanted.verb == "migrate") return migrate(subject, wanted.to.value_or(""));
  return scale(subject, *wanted.gpus);
}

Result<Effect> Interventions::preview(JobId job, const wire::Intervention& wanted) {
  Result<Planned> planned = plan(job, wanted);
  if (!planned.ok()) return planned.error();
  return std::move(planned->effect);
}

// A refusal that tells how a job stands promises that too.
void Interventions::refuse(const Error& error, Done done) {
  recorder_.when_durable(
      [this, error, done = std::move(done)](const Status& status) { done(status.ok() ? error : recorder_.failure()); });
}

void Interventions::note_request(const std::string& verb, JobId job, const std::string& by, Instant now,
                                 std::string text) {
  recorder_.write_event({.at_us = now.us,
                         .kind = "job." + verb + "_requested",
                         .job_id = job.value,
                         .actor_type = "user",
                         .actor_name = by,
                         .text = std::move(text)});
}

Status Interventions::may_signal(JobId id) const {
  const JobEntry* entry = book_.find(id);
  if (!entry) return submissions_.no_job(id);
  const JobIndex index = core_.find(id);
  if (!index.valid() || is_finished(core_.job(index).state)) return already_ended(entry->row);
  const Job& job = core_.job(index);
  if (job.state != JobState::running) return not_running(job, id_of(job), "only a running job gets signals");
  for (const ServerGpus& part : job.allocation.parts()) {
    const std::string& server = core_.servers()[part.server].description.name;
    const Agent* agent = agents_.by_server(server);
    if (agent && !agent->hello.sends_signals)
      return unavailable("agent-too-old", "the agent of " + server + " is of a version that passes on no signals");
  }
  return {};
}

void Interventions::signal(JobId id, const std::string& signal, const std::string& by, Instant now, Done done) {
  if (const Status may = may_signal(id); !may.ok()) return refuse(may.error(), std::move(done));
  if (const Status accepted = recorder_.accepts(); !accepted.ok()) return done(accepted.error());
  note_request("signal", id, by, now, signal);
  orders_.signal(id, core_.job(core_.find(id)).attempt, signal);
  recorder_.when_durable(
      [id, done = std::move(done)](const Status& status) { status.ok() ? done(id) : done(status.error()); });
}

void Interventions::intervene(JobId id, const wire::Intervention& wanted, const std::string& by, Instant now,
                              Done done) {
  Result<Planned> planned = plan(id, wanted);
  if (!planned.ok()) return refuse(planned.error(), std::move(done));
  if (const Status accepted = recorder_.accepts(); !accepted.ok()) return done(accepted.error());
  JobEntry& entry = *book_.find(id);
  note_request(wanted.verb, id, by, now, planned->details);
  if (planned->spec) {
    entry.row.spec_json = wire::spec_text(*planned->spec);
    entry.spec.reset();
    book_.recount(entry);
  }
  for (Event& event : planned->events) engine_.feed(std::move(event), now);
  copy_state(core_, core_.job(core_.find(id)), entry.row);
  recorder_.write_job(entry.row);
  recorder_.when_durable(
      [id, done = std::move(done)](const Status& status) { status.ok() ? done(id) : done(status.error()); });
}

// Whether the job can be stopped and started again with what it has learnt.
Status Interventions::can_restart(const Subject& subject, const char* verb) const {
  const std::string id = id_of(subject.job);
  if (subject.job.state != JobState::running)
    return not_running(subject.job, id, fmt::format("only a running job can be {}", verb).c_str());
  if (!subject.job.request.preemptible)
    return conflict("not-preemptible", fmt::format("job {} says preemptible = false: it cannot be {}", id, verb));
  if (subject.job.request.capability == Capability::checkpoint) return {};
  return conflict("no-checkpoint", fmt::format("job {} names no checkpoint folder: it cannot be {}", id, verb))
      .hint("submit it with one: schedulearn submit --checkpoint-dir DIR …")
      .note("see docs/guide/jobs.md, What policies may do to a job");
}

std::string Interventions::where(const Allocation& gpus) const {
  std::string text;
  for (const ServerGpus& part : gpus.parts())
    text += (text.empty() ? "" : ", ") + core_.servers()[part.server].description.name +
            (part.gpus.empty() ? "" : ":" + gpu_list(part.gpus));
  return text;
}

Effect Interventions::restart_effect(const Subject& subject, const Allocation& gpus) const {
  Effect effect;
  effect.text = "stops at a checkpoint, then continues on " +
                (gpus.count() == 0 ? where(gpus) : fmt::format("{} ({})", gpus_text(gpus.count()), where(gpus)));
  const Measurements* measured = subject.entry.measured.get();
  const JobModel* model = subject.job.request.model.get();
  const wire::FamilyCosts* alike = costs_.find(core_.families().text(subject.job.request.family));
  if (can_resize_in_place(subject.entry, subject.job.allocation, gpus)) {
    effect.text = fmt::format("is asked to go over to {} by itself ({})", gpus_text(gpus.count()), where(gpus));
    if (alike && alike->stops > 0) effect.cost_s = alike->stop_s;
    return effect;
  }
  if (measured && measured->checkpoint_s && measured->start_up_s)
    effect.cost_s = *measured->checkpoint_s + *measured->start_up_s;
  else if (alike && alike->has_restart())
    effect.cost_s = alike->restart_s();
  else if (model && model->restart_cost)
    effect.cost_s = model->restart_cost->to_seconds();
  return effect;
}

// ---- suspend, resume ----

// Refused only if processes run that can neither be frozen nor stopped at a checkpoint.
Result<Interventions::Planned> Interventions::suspend(const Subject& subject) const {
  const Job& job = subject.job;
  const std::string id = id_of(job);
  if (job.on_hold)
    return conflict("job-held", fmt::format("job {} is held already", id)).hint("schedulearn resume " + id);
  const JobIndex index = core_.find(job.request.id);
  if (!core_.can_be_held(index) && job.state == JobState::starting)
    return conflict("job-starting", fmt::format("job {} is about to go on: it can be frozen again when it runs", id));
  if (!core_.can_be_held(index))
    return conflict("cannot-suspend", fmt::format("job {} can neither be stopped at a checkpoint nor frozen", id))
        .note("it names no checkpoint folder and does not say freeze = true")
        .hint("schedulearn cancel " + id + "   ends it for good");
  Planned planned;
  const bool runs = is_active(job.state) && job.state != JobState::suspended;
  const char* first = !runs                                              ? ""
                      : core_.can_freeze(index)                          ? "is frozen where it runs and "
                      : job.request.capability == Capability::checkpoint ? "stops at a checkpoint and "
                                                                         : "stops and ";
  planned.effect.text = fmt::format("{}is held until: schedulearn resume {}", first, id);
  if (job.group) planned.effect.text += "; none of its members starts, those that run go on";
  planned.events.emplace_back(JobHeld{job.request.id});
  return planned;
}

Result<Interventions::Planned> Interventions::resume(const Subject& subject) const {
  const Job& job = subject.job;
  if (!job.on_hold && job.state != JobState::held)
    return conflict("job-not-held", fmt::format("job {} is not held: it is {}", id_of(job), to_string(job.state)))
        .hint(fmt::format("see what it does: schedulearn show {}", id_of(job)));
  Planned planned;
  const bool stops = is_active(job.state) && job.state != JobState::suspended;
  planned.effect.text = stops ? "is no longer held: it goes back in line when it has stopped" : "is no longer held";
  planned.events.emplace_back(JobHeld{job.request.id, false});
  return planned;
}

// ---- migrate ----

Result<Interventions::Planned> Interventions::migrate(const Subject& subject, const std::string& to) const {
  const Job& job = subject.job;
  if (Status can = can_restart(subject, "moved"); !can.ok()) return can.error();
  if (!job.request.migratable)
    return conflict("not-migratable", fmt::format("job {} says migratable = false", id_of(job)));
  Result<Allocation> gpus = to.empty() ? place_elsewhere(job) : place_on(job, to);
  if (!gpus.ok()) return gpus.error();
  Planned planned{.effect = restart_effect(subject, *gpus), .events = {}, .details = "to " + where(*gpus), .spec = {}};
  planned.events.emplace_back(JobMoved{job.request.id, std::move(*gpus)});
  return planned;
}

Result<Allocation> Interventions::place_on(const Job& job, const std::string& name) const {
  const ServerIndex server = core_.find_server(name);
  if (!server.valid() || core_.servers()[server].state == ServerState::removed)
    return not_found("server-not-found", "there is no server " + name).hint("schedulearn servers ls").at("/to");
  if (job.allocation.is_on(server))
    return conflict("already-there", fmt::format("job {} runs on {} already", id_of(job), name)).at("/to");
  const Server& there = core_.servers()[server];
  if (there.state != ServerState::up)
    return conflict("server-not-up", fmt::format("{} is {}: nothing starts there now", name, to_string(there.state)))
        .at("/to");
  const FreeGpus& free = core_.ledger().free();
  const int needed = job.allocation.count();
  if (auto gpus = sl::place_on(free, core_.servers(), job.request, needed, server)) return std::move(*gpus);
  const Error refusal =
      !is_eligible(there, job.request)
          ? conflict("no-room", fmt::format("{} does not have the GPUs that job {} asks for", name, id_of(job)))
                .hint("schedulearn gpus")
      : free.count(server) < needed
          ? conflict("no-room", fmt::format("{} has {} free and job {} needs {}", name, gpus_text(free.count(server)),
                                            id_of(job), needed))
                .hint("schedulearn gpus")
          : conflict("no-room", fmt::format("{} has too few free CPUs or too little memory", name))
                .hint("schedulearn servers ls");
  return Error(refusal).at("/to");
}

// The other server that it fills best.
Result<Allocation> Interventions::place_elsewhere(const Job& job) const {
  const FreeGpus& free = core_.ledger().free();
  const int needed = job.allocation.count();
  std::optional<Allocation> best;
  int left = GpuSet::capacity + 1;
  for (std::uint32_t s = 0; s < core_.servers().size(); ++s) {
    const ServerIndex server(s);
    if (job.allocation.is_on(server) || free.count(server) - needed >= left) continue;
    auto gpus = sl::place_on(free, core_.servers(), job.request, needed, server);
    if (!gpus) continue;
    left = free.count(server) - needed;
    best = std::move(gpus);
  }
  if (best) return std::move(*best);
  if (needed == 0)
    return conflict("no-room",
                    fmt::format("no other server has the free CPUs and memory that job {} needs", id_of(job)))
        .hint("schedulearn servers ls");
  return conflict("no-room",
                  fmt::format("no other server has {} free that job {} could use", gpus_text(needed), id_of(job)))
      .hint("schedulearn gpus");
}

// ---- scale ----

Result<Interventions::Planned> Interventions::scale(const Subject& subject, const wire::GpuRange& gpus) const {
  const Job& job = subject.job;
  const wire::JobSpec& spec = spec_of(subject.entry);
  wire::JobSpec next = spec;
  next.gpus = gpus;
  if (Status valid = wire::validate(next); !valid.ok()) return valid.error();
  if (Status may = submissions_.may_have(subject.entry, next); !may.ok()) return may.error();
  const int has = job.allocation.count();
  const bool waits = job.state == JobState::pending || job.state == JobState::held;
  const bool keeps = !waits && job.state == JobState::running && gpus.min <= has && has <= gpus.max;
  if (!waits && !keeps) return resize(subject, next);
  Planned planned;
  planned.effect.text = waits
                            ? fmt::format("asks for {} from now on",
                                          gpus.min == gpus.max ? gpus_text(gpus.max) : range_text(gpus) + " GPUs")
                            : fmt::format("keeps its {}; its policy may give it {}", gpus_text(has), range_text(gpus));
  JobEdited edited{.job = job.request.id};
  edited.gpus_min = gpus.min;
  edited.gpus = edited.gpus_max = gpus.max;
  planned.details = fmt::format("gpus {} → {}", range_text(spec.gpus), range_text(gpus));
  planned.events.emplace_back(std::move(edited));
  planned.spec = std::move(next);
  return planned;
}

Result<Interventions::Planned> Interventions::resize(const Subject& subject, const wire::JobSpec& next) const {
  const Job& job = subject.job;
  if (Status can = can_restart(subject, "resized"); !can.ok()) return can.error();
  const int has = job.allocation.count(), wanted = std::clamp(has, next.gpus.min, next.gpus.max);
  Result<Allocation> gpus = place_resized(job, wanted);
  if (!gpus.ok()) return gpus.error();
  Planned planned{.effect = restart_effect(subject, *gpus),
                  .events = {},
                  .details = fmt::format("{} → {} GPUs", has, wanted),
                  .spec = next};
  planned.events.emplace_back(JobMoved{job.request.id, std::move(*gpus), next.gpus.min, next.gpus.max});
  return planned;
}

// Where it runs, if there is room; else on any other server, if it may move.
Result<Allocation> Interventions::place_resized(const Job& job, int gpus) const {
  if (gpus < job.allocation.count()) return first_of(job.allocation, gpus);
  JobRequest request = job.request;
  request.gpus_min = request.gpus_max = request.gpus = gpus;
  const FreeGpus& free = core_.ledger().free();
  Allocation grown = grown_in_place(free, core_.servers(), request, job.allocation, gpus);
  if (grown.count() == gpus) return grown;
  const auto elsewhere =
      job.request.migratable ? place(free, core_.servers(), request, gpus) : std::optional<Allocation>();
  if (elsewhere) return std::move(*elsewhere);
  std::string beside;
  for (const ServerGpus& part : job.allocation.parts())
    beside += fmt::format("{}{} has {} free", beside.empty() ? "" : ", ", core_.servers()[part.server].description.name,
                          free.count(part.server));
  return conflict("no-room", fmt::format("no server has {} for job {}: {} beside those of the job", gpus_text(gpus),
                                         id_of(job), beside))
      .hint("schedulearn gpus")
      .note("a range lets the policy give it more when they become free: schedulearn scale " + id_of(job) +
            fmt::format(" {}..{}", job.allocation.count(), gpus))
      .at("/gpus");
}

}  // namespace sl::controller
