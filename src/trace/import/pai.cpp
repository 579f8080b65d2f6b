// Alibaba's PAI trace of 2020: pai_job_table.csv and pai_task_table.csv of alibaba/clusterdata, without header lines. A
// job's GPUs are those of all instances of its tasks (plan_gpu is percent of a GPU); it runs from the start of its
// first task on GPUs to the end of its last.
#include <algorithm>

#include "trace/import/csv_table.h"
#include "trace/import/intake.h"
#include "trace/numbers.h"

namespace sl::trace {
namespace {

enum TaskField {
  of_job,
  task_name,
  instances,
  task_status,
  task_start,
  task_end,
  plan_cpu,
  plan_mem,
  plan_gpu,
  gpu_type
};
const std::vector<std::string_view> job_columns = {"job_name", "inst_id", "user", "status", "start_time", "end_time"};
const std::vector<std::string_view> task_columns = {"job_name", "task_name", "inst_num", "status",   "start_time",
                                                    "end_time", "plan_cpu",  "plan_mem", "plan_gpu", "gpu_type"};

struct Times {
  std::optional<double> start, end;
  bool unfinished = false;
};
// All tasks of a job. A job with GPUs lasts as long as its tasks that have some.
struct Tasks {
  double gpus = 0, cpus = 0, memory = 0;
  Times with_gpus, without_gpus;
  std::vector<std::string> types;
  const Times& times() const { return gpus > 0 ? with_gpus : without_gpus; }
};
using TasksOfJobs = boost::unordered_flat_map<std::string_view, Tasks>;

void add_task(const Fields& row, Tasks& tasks) {
  const double count = amount_of(row[instances]).value_or(1);
  const double gpus = count * amount_of(row[plan_gpu]).value_or(0) / 100;
  tasks.cpus += count * amount_of(row[plan_cpu]).value_or(0) / 100;
  tasks.memory += count * amount_of(row[plan_mem]).value_or(0) * gibibyte;
  tasks.gpus += gpus;
  const auto start = number(row[task_start]), end = number(row[task_end]);
  Times& times = gpus > 0 ? tasks.with_gpus : tasks.without_gpus;
  if (start) times.start = std::min(*start, times.start.value_or(*start));
  if (end) times.end = std::max(*end, times.end.value_or(*end));
  times.unfinished = times.unfinished || !end;
  if (gpus == 0) return;
  const std::string type = clean(row[gpu_type]);
  if (!type.empty() && std::find(tasks.types.begin(), tasks.types.end(), type) == tasks.types.end())
    tasks.types.push_back(type);
}

void take_job(const Fields& row, const TasksOfJobs& tasks_of, Intake& intake) {
  enum { job_name, inst_id, user, job_status, job_start, job_end };
  intake.count_row();
  const auto found = tasks_of.find(row[job_name]);
  if (found == tasks_of.end()) return intake.drop("none of its tasks is known");
  const Tasks& tasks = found->second;
  const auto submitted = number(row[job_start]);
  if (!submitted) return intake.drop("no submission time");
  const Times& times = tasks.times();
  if (!times.start) return intake.drop("it never ran");
  if (times.unfinished) return intake.drop("it had not ended");
  ForeignJob job;
  job.id = row[job_name];
  job.user = row[user];
  job.submitted_s = *submitted;
  job.start_s = times.start;
  job.duration_s = *times.end - *times.start;
  job.gpus = tasks.gpus;
  job.details.status = row[job_status];
  job.details.gpu_types = tasks.types;
  job.details.demand[Resource::cpu] = tasks.cpus;
  job.details.demand[Resource::memory] = tasks.memory;
  intake.take(std::move(job));
}

// By the number of columns of its first line that is not empty.
std::size_t columns_of(std::string_view text) {
  CsvRows rows(text);
  return rows.next() ? rows.fields().size() : 0;
}

}  // namespace

Result<Imported> import_pai(const std::string& first, const std::string& second, const TraceOptions& options) {
  const bool in_order = columns_of(first) == job_columns.size() && columns_of(second) == task_columns.size();
  const bool swapped = columns_of(second) == job_columns.size() && columns_of(first) == task_columns.size();
  if (!in_order && !swapped)
    return invalid("import-format", "these are not a job table of 6 columns and a task table of 10")
        .hint("schedulearn trace import pai pai_job_table.csv pai_task_table.csv");
  TasksOfJobs tasks;
  Status read = read_table(swapped ? first : second, task_columns, false,
                           [&](const Fields& row) { add_task(row, tasks[row[of_job]]); });
  if (!read.ok()) return Error(read.error()).note("in the task table");
  Intake intake(options);
  read = read_table(swapped ? second : first, job_columns, false,
                    [&](const Fields& row) { take_job(row, tasks, intake); });
  if (!read.ok()) return Error(read.error()).note("in the job table");
  return intake.finish(true);
}

}  // namespace sl::trace
