#include "controller/telemetry.h"

#include "wire/json.h"

namespace sl::controller {
namespace {

TelemetryDocument read(const std::string& text) {
  if (text.empty()) return {};
  const auto document = wire::read_json<TelemetryDocument>(text, wire::Unknown::ignore);
  return document.ok() ? *document : TelemetryDocument{};
}

void copy_known(const Core& core, const JobTelemetry& known, TelemetryDocument& document) {
  document.loss_by_epoch = known.loss_by_epoch;
  document.accuracy = known.accuracy;
  document.gpu_utilization_pct = known.gpu_utilization_pct;
  document.gpu_memory_used_bytes = known.gpu_memory_used_bytes;
  document.speeds.clear();
  for (const SpeedSample& sample : known.speeds) {
    const std::string type = sample.gpu_type.valid() ? std::string(core.gpu_types().text(sample.gpu_type)) : "";
    document.speeds.push_back({sample.workers, sample.machines, type, sample.batch_size,
                               sample.neighbour.valid() ? sample.neighbour.value : 0, sample.steps_per_s});
  }
}

}  // namespace

void write_telemetry(const Core& core, const Job* job, JobEntry& entry) {
  TelemetryDocument document = read(entry.row.telemetry_json);
  if (job && job->telemetry) copy_known(core, *job->telemetry, document);
  const Measurements& measured = entry.measuring();
  const auto keep = [](auto& older, const auto& newer) { older = newer ? newer : older; };
  if (!measured.unit.empty()) document.unit = measured.unit;
  if (const auto per_s = measured.meter.per_s())
    document.per_s = per_s, document.measured_s = measured.meter.measured_s();
  keep(document.start_up_s, measured.start_up_s);
  keep(document.checkpoint_bytes, measured.checkpoint_bytes);
  keep(document.checkpoint_s, measured.checkpoint_s);
  keep(document.steps_per_epoch, measured.steps_per_epoch);
  keep(document.stop_s, measured.stop_s);
  keep(document.repeated_count, measured.repeated_count);
  keep(document.repeated_s, measured.repeated_s);
  entry.row.telemetry_json = wire::write_json(document);
}

std::unique_ptr<JobTelemetry> restore_telemetry(const std::string& text, Core& core) {
  if (text.empty()) return nullptr;
  const TelemetryDocument document = read(text);
  auto known = std::make_unique<JobTelemetry>();
  known->loss_by_epoch = document.loss_by_epoch;
  known->accuracy = document.accuracy;
  known->gpu_utilization_pct = document.gpu_utilization_pct;
  known->gpu_memory_used_bytes = document.gpu_memory_used_bytes;
  for (const MeasuredSpeed& speed : document.speeds) {
    SpeedSample sample;
    sample.workers = speed.gpus;
    sample.machines = speed.servers;
    if (!speed.gpu_type.empty()) sample.gpu_type = core.gpu_types().intern(speed.gpu_type);
    sample.batch_size = speed.batch_size;
    if (speed.shared_with > 0) sample.neighbour = JobId(speed.shared_with);
    sample.steps_per_s = speed.per_s;
    known->speeds.push_back(sample);
  }
  return known;
}

}  // namespace sl::controller
