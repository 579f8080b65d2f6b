#include "controller/progress_reports.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "controller/telemetry.h"
#include "wire/json.h"

namespace sl::controller {
namespace {

constexpr double epochs_max = 1e6;

// The job that shares this job's GPUs; none: it is alone, or has none.
JobId neighbour_of(const Core& core, const Job& job) {
  JobId neighbour;
  if (job.allocation.count() == 0) return neighbour;
  const ServerGpus& part = job.allocation.parts().front();
  core.ledger().for_each_tenant(part.server, part.gpus.lowest(), [&](JobIndex tenant) {
    if (core.job(tenant).request.id != job.request.id) neighbour = core.job(tenant).request.id;
  });
  return neighbour;
}

std::string progress_json(const wire::Progress& progress) {
  const auto number = [](const std::optional<double>& v) {
    return v ? boost::json::value(*v) : boost::json::value(nullptr);
  };
  const bool by_epoch = progress.epoch.has_value();
  return boost::json::serialize(boost::json::object{{"done", number(by_epoch ? progress.epoch : progress.step)},
                                                    {"total", number(by_epoch ? progress.epochs : progress.steps)},
                                                    {"unit", by_epoch        ? "epoch"
                                                             : progress.step ? "step"
                                                                             : ""},
                                                    {"epoch", number(progress.epoch)},
                                                    {"epochs", number(progress.epochs)},
                                                    {"step", number(progress.step)},
                                                    {"steps", number(progress.steps)},
                                                    {"loss", number(progress.loss)},
                                                    {"accuracy", number(progress.accuracy)},
                                                    {"loss_is_not_finite", progress.loss_is_not_finite},
                                                    {"updated_us", progress.at_us}});
}

// Steps per epoch, if the reports or the job file state both totals.
std::optional<int> steps_per_epoch(const wire::TrainingSpec& training, const wire::Progress& progress) {
  const double steps = progress.steps.value_or(static_cast<double>(training.steps.value_or(0)));
  const double epochs = progress.epochs.value_or(training.epochs.value_or(0));
  if (!(epochs >= 1) || !(steps >= epochs) || steps / epochs > 1e9) return std::nullopt;
  return static_cast<int>(std::lround(steps / epochs));
}

// Counts the finished steps: as reported, or converted from epochs. If steps are unknown, epochs are counted instead.
// One job counts in one unit.
void count(JobEntry& entry, const Job& job, const wire::Progress& progress) {
  Measurements& measured = entry.measuring();
  measured.steps_per_epoch = steps_per_epoch(spec_of(entry).training, progress);
  const double per_epoch = measured.steps_per_epoch.value_or(1);
  const char* unit = progress.step || measured.steps_per_epoch ? "step" : "epoch";
  if (!progress.step && (!progress.epoch || (spec_of(entry).training.steps && !measured.steps_per_epoch))) return;
  if (measured.unit.empty()) measured.unit = unit;
  if (measured.unit != unit) return;
  measured.meter.on_count(progress.step ? *progress.step : *progress.epoch * per_epoch,
                          progress.step ? progress.step_at_us : progress.epoch_at_us);
  const double before = !progress.step ? per_epoch : job.attempt == 1 ? measured.meter.first_count() : 0;
  if (!measured.start_up_s) measured.start_up_s = measured.meter.start_up_s(measured.started_us, before);
}

}  // namespace

void ProgressReports::on_foreign_gpu_use(const std::string& server, const wire::ForeignGpuUse& use, Instant now) {
  const JobEntry* entry = book_.find(JobId(use.incarnation.job));
  if (!entry || !has_part_on(server, *entry, use.incarnation)) return;
  const std::string program = use.program.empty() ? "" : " (" + use.program + ")";
  recorder_.write_event({.at_us = now.us,
                         .kind = "job.foreign_gpu",
                         .job_id = entry->row.id,
                         .server = server,
                         .text = fmt::format("process {}{} of the job uses {}-{}, which the job does not hold", use.pid,
                                             program, server, use.gpu)});
}

void ProgressReports::on_progress(const std::string& server, const wire::Progress& progress, Instant now) {
  const JobId id(progress.incarnation.job);
  JobEntry* entry = book_.find(id);
  const store::PlacementRow* placement = entry ? latest_placement(*entry) : nullptr;
  // of one that is over, or foreign, or from the others of its servers
  if (!placement || placement->server != server || incarnation_of(*placement) != progress.incarnation) return;
  const JobIndex index = core_.find(id);
  entry->row.progress_json = progress_json(progress);
  const bool has_ended = !index.valid() || is_finished(core_.job(index).state);
  const bool has_gone_on = !has_ended && core_.job(index).attempt != progress.incarnation.attempt;
  if (has_ended || has_gone_on) return recorder_.write_job(entry->row);  // its last line has arrived after its end
  const Job& job = core_.job(index);
  AttemptProgressed event{id, progress.incarnation.attempt};
  const int epoch = static_cast<int>(std::clamp(progress.epoch.value_or(0), 0.0, epochs_max));
  if (progress.epoch_loss && epoch > 0 && std::exchange(entry->measuring().epoch_told, epoch) != epoch) {
    event.epoch = epoch;
    event.loss = progress.epoch_loss;
    event.accuracy = progress.accuracy;
  }
  entry->measuring().begin(job.attempt, neighbour_of(core_, job));
  note_divergence(*entry, progress, now);
  count(*entry, job, progress);
  note_continuation(*entry, job, now);
  feed_measured(*entry, std::move(event), progress.at_us, now);
}

// Once an attempt. It goes on: whether that is worth its GPUs is for its user to say.
void ProgressReports::note_divergence(JobEntry& entry, const wire::Progress& progress, Instant now) {
  if (!progress.loss_is_not_finite || std::exchange(entry.measuring().has_diverged, true)) return;
  const bool by_step = progress.step && progress.step_at_us >= progress.epoch_at_us;
  const std::string where = by_step          ? fmt::format(" at step {:.10g}", *progress.step)
                            : progress.epoch ? fmt::format(" in epoch {:.10g}", *progress.epoch)
                                             : "";
  recorder_.write_event({.at_us = now.us,
                         .kind = "job.loss_not_finite",
                         .job_id = entry.row.id,
                         .text = "its loss is not a finite number" + where});
}

// Once an attempt that goes on from another one has made its first step: what the interruption has cost.
void ProgressReports::note_continuation(JobEntry& entry, const Job& job, Instant now) {
  Measurements& measured = entry.measuring();
  const auto per_s = measured.meter.per_s();
  if (!measured.start_up_s || !measured.stopped_at || !per_s) return;
  const double again = std::max(0.0, *std::exchange(measured.stopped_at, std::nullopt) - measured.meter.first_count());
  measured.repeated_count = again;
  measured.repeated_s = again / *per_s;
  const double stop_s = measured.stop_s.value_or(0);
  if (measured.stop_s) {  // not if it failed or lost its server
    const std::string& family = core_.families().text(job.request.family);
    if (const auto row = costs_.on_continued(family, *measured.start_up_s, *measured.repeated_s)) recorder_.write(*row);
  }
  store::EventRow event;
  event.at_us = now.us;
  event.kind = "job.continued";
  event.job_id = entry.row.id;
  event.server = entry.row.server;
  event.text = fmt::format("{:.1f} s of work lost: ", stop_s + *measured.start_up_s + *measured.repeated_s);
  if (measured.stop_s) event.text += fmt::format("{:.1f} s to stop, ", stop_s);
  event.text += fmt::format("{:.1f} s to the first {}", *measured.start_up_s, measured.unit);
  if (again > 0) event.text += fmt::format(", {:.0f} {}{} again", again, measured.unit, again == 1 ? "" : "s");
  recorder_.write_event(std::move(event));
  write_telemetry(core_, &job, entry);
}

void ProgressReports::on_telemetry(Agent& agent, const wire::Telemetry& telemetry, Instant now) {
  for (const wire::GpuReport& report : telemetry.gpus) {
    for (wire::GpuReport& known : agent.hello.gpus) {
      if (known.index == report.index) known = report;
    }
  }
  agent.cpu_utilization_pct = telemetry.cpu_utilization_pct;
  agent.memory_used_bytes = telemetry.memory_used_bytes;
  agent.job_files_bytes = telemetry.job_files_bytes;
  agent.disk_free_bytes = telemetry.disk_free_bytes;
  on_gpus(agent.hello.server, telemetry.gpus, now);
  sample_jobs(agent, telemetry.at_us, now);
}

void ProgressReports::on_gpus(const std::string& server, const std::vector<wire::GpuReport>& gpus, Instant now) {
  const ServerIndex index = core_.find_server(server);
  const TelemetrySampled event = sample(core_.servers()[index].description, gpus, now);
  const GpuSet gone = event.unavailable - core_.servers()[index].unavailable;
  engine_.feed(event, now);
  gone.for_each([&](int gpu) { note_gone(index, gpu, now); });
}

// In the server's history, and in that of each job that has the GPU.
void ProgressReports::note_gone(ServerIndex server, int gpu, Instant now) {
  store::EventRow event;
  event.at_us = now.us;
  event.kind = "gpu.unavailable";
  event.server = core_.servers()[server].description.name;
  event.actor_type = "agent", event.actor_name = event.server;
  event.text = fmt::format("GPU {} of {} no longer answers", gpu, event.server);
  recorder_.write_event(event);
  core_.ledger().for_each_tenant(server, gpu, [&](JobIndex tenant) {
    event.kind = "job.gpu_unavailable";
    event.job_id = core_.job(tenant).request.id.value;
    recorder_.write_event(event);
  });
}

// The GPUs of each job that has its GPUs alone. Simulated GPUs have no figures.
void ProgressReports::sample_jobs(const Agent& agent, std::int64_t at_us, Instant now) {
  struct Load {
    double utilization_sum = 0;
    int gpus = 0, known = 0;
    std::optional<std::int64_t> memory;  // on the fullest
  };
  if (agent.hello.simulated) return;
  const ServerIndex server = core_.find_server(agent.hello.server);
  std::map<JobIndex, Load> loads;
  for (const wire::GpuReport& gpu : agent.hello.gpus) {
    if (gpu.index < 0 || gpu.index >= core_.servers()[server].description.gpus) continue;
    core_.ledger().for_each_tenant(server, gpu.index, [&](JobIndex tenant) {
      Load& load = loads[tenant];
      ++load.gpus;
      load.memory = std::max(load.memory, gpu.memory_used_bytes);
      if (gpu.utilization_pct) load.utilization_sum += *gpu.utilization_pct, ++load.known;
    });
  }
  for (const auto& [index, load] : loads) {
    const Job& job = core_.job(index);
    JobEntry* entry = book_.find(job.request.id);
    const JobId neighbour = neighbour_of(core_, job);
    if (!entry || job.state != JobState::running) continue;
    entry->measuring().begin(job.attempt, neighbour);
    if (!neighbour.valid())
      entry->measuring().meter.on_gpus(load.known > 0 ? std::optional(load.utilization_sum / load.known) : std::nullopt,
                                       load.memory);
    if (!neighbour.valid() && load.memory) watch_gpu_memory(*entry, agent.hello.server, *load.memory, now);
    feed_measured(*entry, {job.request.id, job.attempt}, at_us, now);
  }
}

// Of a GPU that it has alone. The driver sets no such limit, so that it is recorded, once per attempt.
void ProgressReports::watch_gpu_memory(JobEntry& entry, const std::string& server, std::int64_t used, Instant now) {
  const std::int64_t asked = spec_of(entry).resources.gpu_memory_bytes.value_or(0);
  if (asked == 0 || used <= asked || std::exchange(entry.measuring().is_over_gpu_memory, true)) return;
  const auto in_mebibytes = [](std::int64_t bytes) { return bytes >> 20; };
  recorder_.write_event({.at_us = now.us,
                         .kind = "job.over_gpu_memory",
                         .job_id = entry.row.id,
                         .server = server,
                         .text = fmt::format("{} MiB of a GPU's memory are in use, and the job asked for {} MiB",
                                             in_mebibytes(used), in_mebibytes(asked))});
}

// Adds the figures of a window that has ended and reports them to the core.
void ProgressReports::feed_measured(JobEntry& entry, AttemptProgressed event, std::int64_t at_us, Instant now) {
  const JobIndex index = core_.find(event.job);
  const Job& job = core_.job(index);
  if (const auto measured = job.state == JobState::running ? entry.measuring().meter.take(at_us) : std::nullopt) {
    event.gpu_utilization_pct = measured->gpu_utilization_pct;
    event.gpu_memory_used_bytes = measured->gpu_memory_used_bytes;
    if (measured->per_s && job.request.needs_gpus()) {
      SpeedSample& sample = event.speed.emplace();
      const auto& parts = job.allocation.parts();
      sample.workers = job.allocation.count();
      sample.machines = static_cast<int>(parts.size());
      if (!parts.empty()) sample.gpu_type = core_.servers()[parts.front().server].description.gpu_type;
      sample.batch_size = spec_of(entry).training.batch_size.value_or(0);
      sample.neighbour = neighbour_of(core_, job);
      sample.steps_per_s = *measured->per_s;
    }
  }
  if (!event.loss && !event.speed && !event.gpu_utilization_pct && !event.gpu_memory_used_bytes) return;
  const bool ends_epoch = event.loss.has_value();
  engine_.feed(std::move(event), now);
  write_telemetry(core_, &core_.job(index), entry);
  if (ends_epoch) end_at_target(entry, core_.job(index), now);
}

// Coach's rule: three epochs in a row. Only a job that can save its model when it is stopped.
void ProgressReports::end_at_target(const JobEntry& entry, const Job& job, Instant now) {
  constexpr int epochs_needed = 3;
  if (job.state != JobState::running || job.request.capability != Capability::checkpoint) return;
  if (job.telemetry->epochs_at_target < epochs_needed) return;
  recorder_.write_event(
      {.at_us = now.us,
       .kind = "job.target_met",
       .job_id = entry.row.id,
       .actor_type = "system",
       .text = fmt::format("its loss was at most {:g} in {} epochs in a row: it has done what it was to do",
                           *job.request.model->target_loss, epochs_needed)});
  engine_.feed(JobTargetMet{job.request.id}, now);
}

}  // namespace sl::controller
