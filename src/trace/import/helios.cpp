// SenseTime's Helios trace: `cluster_log.csv` of S-Lab-System-Group/HeliosData, from Slurm's accounting.
#include "trace/import/csv_table.h"
#include "trace/import/intake.h"
#include "trace/numbers.h"

namespace sl::trace {
namespace {

void take_row(const Fields& row, Intake& intake) {
  enum { id, user, vc, gpus, cpus, state, submitted, started, duration };
  intake.count_row();
  const auto submitted_s = parse_date_time(row[submitted]);
  const auto gpu_count = number(row[gpus]), duration_s = number(row[duration]);
  if (!submitted_s) return intake.drop("no submission time");
  if (!gpu_count) return intake.drop("an invalid number of GPUs");
  ForeignJob job;
  job.start_s = parse_date_time(row[started]);
  if (!job.start_s) return intake.drop("it never ran");
  if (!duration_s) return intake.drop("no duration");
  job.id = row[id];
  job.user = row[user];
  job.submitted_s = *submitted_s;
  job.duration_s = *duration_s;
  job.gpus = *gpu_count;
  job.details.virtual_cluster = row[vc];
  job.details.status = row[state];
  job.details.demand[Resource::cpu] = amount_of(row[cpus]).value_or(0);
  intake.take(std::move(job));
}

}  // namespace

Result<Imported> import_helios(const std::string& text, const TraceOptions& options) {
  Intake intake(options);
  const Status read =
      read_table(text, {"job_id", "user", "vc", "gpu_num", "cpu_num", "state", "submit_time", "start_time", "duration"},
                 true, [&](const Fields& row) { take_row(row, intake); });
  if (!read.ok()) return Error(read.error()).hint("the file is cluster_log.csv, with its header line");
  return intake.finish(true);
}

}  // namespace sl::trace
