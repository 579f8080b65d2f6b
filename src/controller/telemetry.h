// What a job has reported about its training and what was measured, as a document: REST shows it as `telemetry`, the
// store keeps it, and after a restart the core's JobTelemetry is restored from it.
#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "controller/job_book.h"

namespace sl::controller {

struct MeasuredSpeed {
  int gpus = 1;     // workers, one per GPU
  int servers = 1;  // that have these GPUs
  std::string gpu_type;
  int batch_size = 0;            // 0: unknown
  std::int64_t shared_with = 0;  // job on the same GPUs; 0: alone
  double per_s = 0;
};
BOOST_DESCRIBE_STRUCT(MeasuredSpeed, (), (gpus, servers, gpu_type, batch_size, shared_with, per_s))

struct TelemetryDocument {
  std::string unit;             // the unit of speeds: "step" or "epoch"; empty: nothing was counted
  std::optional<double> per_s;  // of the last attempt, over measured_s seconds
  std::optional<double> measured_s;
  std::vector<MeasuredSpeed> speeds;  // in the order of measurement
  std::vector<double> loss_by_epoch;
  std::optional<double> accuracy;
  std::optional<double> gpu_utilization_pct;          // mean over its GPUs, while it used them alone
  std::optional<std::int64_t> gpu_memory_used_bytes;  // on the fullest of them
  std::optional<double> start_up_s;                   // from the start of the last attempt to its first step
  std::optional<std::int64_t> checkpoint_bytes;
  std::optional<double> checkpoint_s;  // from the signal to stop to the end, with a checkpoint written
  std::optional<int> steps_per_epoch;
  // What the last interruption cost besides the start-up: how long it took to stop, and what was done a second time.
  std::optional<double> stop_s;
  std::optional<double> repeated_count;  // in units
  std::optional<double> repeated_s;
};
BOOST_DESCRIBE_STRUCT(TelemetryDocument, (),
                      (unit, per_s, measured_s, speeds, loss_by_epoch, accuracy, gpu_utilization_pct,
                       gpu_memory_used_bytes, start_up_s, checkpoint_bytes, checkpoint_s, steps_per_epoch, stop_s,
                       repeated_count, repeated_s))

// Updates the row's document with what is known now. `job` null: the core has forgotten it; what it knew stays.
void write_telemetry(const Core& core, const Job* job, JobEntry& entry);

// What the core knew of a job when the document was written; null if it knew nothing.
std::unique_ptr<JobTelemetry> restore_telemetry(const std::string& text, Core& core);

}  // namespace sl::controller
