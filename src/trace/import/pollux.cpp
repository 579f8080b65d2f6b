// A workload of Pollux's artifact: `workloads/workload-1.csv` and its like of petuum/adaptdl, branch osdi21-artifact. It
// states no run times; those that its trainings have alone follow from the measurements.
#include "trace/import/csv_table.h"
#include "trace/import/intake.h"
#include "trace/numbers.h"
#include "trace/pollux/training.h"

namespace sl::trace {
namespace {

void take_workload_job(const Fields& row, Intake& intake) {
  enum { name, time, application, gpus, batch };
  intake.count_row();
  const auto submitted_s = number(row[time]);
  const auto gpu_count = count_of(row[gpus]), batch_size = count_of(row[batch]);
  if (!submitted_s) return intake.drop("no submission time");
  if (!gpu_count || *gpu_count == 0) return intake.drop("an invalid number of GPUs");
  if (!batch_size) return intake.drop("an invalid batch size");
  const auto length_s = PolluxTraining::length_s(std::string(row[application]), *batch_size, *gpu_count);
  if (!length_s.ok()) return intake.drop(length_s.error().message.substr(0, 200));
  JobModel model;
  model.batch_size = batch_size;
  ForeignJob job;
  job.id = row[name];
  job.submitted_s = *submitted_s;
  job.duration_s = static_cast<double>(*length_s);
  job.gpus = *gpu_count;
  job.details.family = row[application];
  job.details.model = std::make_shared<const JobModel>(std::move(model));
  intake.take(std::move(job));
}

}  // namespace

Result<Imported> import_pollux(const std::string& text, const TraceOptions& options) {
  Intake intake(options);
  const Status read = read_table(text, {"name", "time", "application", "num_replicas", "batch_size"}, true,
                                 [&](const Fields& row) { take_workload_job(row, intake); });
  if (!read.ok()) return Error(read.error()).hint("the file is a workload-N.csv, with its header line");
  return intake.finish(false);  // its rounds begin at time zero
}

}  // namespace sl::trace
