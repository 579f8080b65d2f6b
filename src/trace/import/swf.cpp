// The Standard Workload Format, version 2.2 (Parallel Workloads Archive,
// www.cs.huji.ac.il/labs/parallel/workload/swf.html): 18 numbers per line, -1 for unknown values, comments after a
// semicolon. Processors count as GPUs.
#include <fmt/format.h>

#include "trace/columns.h"
#include "trace/import/intake.h"
#include "trace/numbers.h"

namespace sl::trace {
namespace {

enum Field {
  job_number,
  submit_time,
  wait_time,
  run_time,
  processors,
  cpu_time,
  memory_used,
  processors_requested,
  time_requested,
  memory_requested,
  status,
  user,
  group,
  executable,
  queue,
  partition,
  preceding_job,
  think_time
};
constexpr std::size_t field_count = 18;

void split_at_blanks(std::string_view line, Fields& fields) {
  fields.clear();
  for (std::size_t at = 0; fields.size() <= field_count;) {
    const std::size_t begin = line.find_first_not_of(" \t", at);
    if (begin == std::string_view::npos) return;
    at = std::min(line.find_first_of(" \t", begin), line.size());
    fields.push_back(line.substr(begin, at - begin));
  }
}

// -1: unknown.
std::string known(std::string_view field) { return field == "-1" ? "" : std::string(field); }

std::optional<double> positive(std::string_view field) {
  const auto value = number(field);
  return value && *value > 0 ? value : std::nullopt;
}

std::string status_name(std::string_view field) {
  if (field == "0") return "failed";
  if (field == "1") return "completed";
  return field == "5" ? "cancelled" : "";
}

void take_job(const Fields& row, Intake& intake) {
  intake.count_row();
  // Lines of status 2 to 4 describe parts of a job that has a line of its own.
  if (row[status] == "2" || row[status] == "3" || row[status] == "4") return intake.drop("part of another job");
  const auto submitted = number(row[submit_time]), run = number(row[run_time]), wait = number(row[wait_time]);
  if (!submitted || *submitted < 0) return intake.drop("no submission time");
  if (!run || *run < 0) return intake.drop("no duration");
  const auto requested = positive(row[processors_requested]), allocated = positive(row[processors]);
  if (!requested && !allocated) return intake.drop("no number of processors");
  ForeignJob job;
  job.id = row[job_number];
  job.submitted_s = *submitted;
  job.duration_s = *run;
  job.gpus = std::ceil(requested ? *requested : *allocated);
  const std::string user_name = known(row[user]);
  job.user = user_name;
  if (wait && *wait >= 0) job.start_s = *submitted + *wait;
  if (const auto limit = positive(row[time_requested]); limit && *limit < seconds_max)
    job.details.estimate = Duration::seconds(*limit);
  if (const auto kilobytes = positive(row[memory_requested]); kilobytes && *kilobytes < 1e12)
    job.details.demand[Resource::memory] = *kilobytes * 1024 * job.gpus;
  job.details.status = status_name(row[status]);
  job.details.virtual_cluster = known(row[group]);
  job.details.family = known(row[executable]);
  job.details.qos = known(row[queue]);
  intake.take(std::move(job));
}

}  // namespace

namespace {

Error wrong_count(std::int64_t line, std::size_t count, std::string_view row) {
  const bool too_many = count > field_count;
  Error error = invalid("import-format", too_many ? fmt::format("line {}: more than 18 fields", line)
                                                  : fmt::format("line {}: {} fields instead of 18", line, count))
                    .note("the line is: " + shown(row));
  if (too_many) error.hints.push_back("--extra-fields ignore reads the first 18");
  return error;
}

}  // namespace

Result<Imported> import_swf(const std::string& text, const TraceOptions& options, ExtraFields extra_fields) {
  Intake intake(options);
  Fields fields;
  std::size_t at = 0;
  for (std::int64_t line = 1; at < text.size(); ++line) {
    const std::string_view row = take_line(text, at);
    split_at_blanks(row, fields);
    if (fields.empty() || fields.front().front() == ';') continue;
    const bool fits =
        fields.size() == field_count || (fields.size() > field_count && extra_fields == ExtraFields::ignore);
    if (!fits) return wrong_count(line, fields.size(), row);
    take_job(fields, intake);
  }
  return intake.finish(false);
}

}  // namespace sl::trace
