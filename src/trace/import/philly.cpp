// Microsoft's Philly trace: `cluster_job_log` of msr-fiddle/philly-traces, a JSON list of jobs with their attempts. A
// job's GPUs are those of its first attempt that names any; its duration is the time that all attempts ran.
#include <boost/json.hpp>

#include "trace/import/intake.h"
#include "wire/json.h"

namespace sl::trace {
namespace {

namespace json = boost::json;

std::string_view text_of(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value && value->is_string() ? std::string_view(value->get_string()) : std::string_view();
}

const json::array& list_of(const json::object& object, std::string_view key) {
  static const json::array none;
  const json::value* value = object.if_contains(key);
  return value && value->is_array() ? value->get_array() : none;
}

double gpus_of(const json::object& attempt) {
  std::size_t gpus = 0;
  for (const json::value& server : list_of(attempt, "detail")) {
    if (server.is_object()) gpus += list_of(server.get_object(), "gpus").size();
  }
  return static_cast<double>(gpus);
}

struct Attempts {
  double gpus = 0, run_s = 0;
  std::optional<double> first_start;
  bool any = false, unfinished = false, backwards = false;
};

void add_attempt(const json::object& attempt, Attempts& all) {
  all.any = true;
  if (all.gpus == 0) all.gpus = gpus_of(attempt);
  const auto start = parse_date_time(text_of(attempt, "start_time"));
  const auto end = parse_date_time(text_of(attempt, "end_time"));
  if (start && !all.first_start) all.first_start = start;
  all.unfinished = !end;  // of the last attempt
  if (!start || !end) return;
  all.backwards = all.backwards || *end < *start;
  all.run_s += *end - *start;
}

void take_job(const json::object& object, Intake& intake) {
  const auto submitted = parse_date_time(text_of(object, "submitted_time"));
  if (!submitted) return intake.drop("no submission time");
  Attempts attempts;
  for (const json::value& attempt : list_of(object, "attempts")) {
    if (attempt.is_object()) add_attempt(attempt.get_object(), attempts);
  }
  if (!attempts.any) return intake.drop("it never ran");
  if (!attempts.first_start) return intake.drop("no start time");
  if (attempts.unfinished) return intake.drop("it had not ended");
  if (attempts.backwards) return intake.drop("it ends before it starts");
  ForeignJob job;
  job.id = text_of(object, "jobid");
  job.user = text_of(object, "user");
  job.submitted_s = *submitted;
  job.duration_s = attempts.run_s;
  job.gpus = attempts.gpus;
  job.start_s = attempts.first_start;
  job.details.virtual_cluster = text_of(object, "vc");
  job.details.status = text_of(object, "status");
  intake.take(std::move(job));
}

}  // namespace

Result<Imported> import_philly(const std::string& text, const TraceOptions& options) {
  const Result<json::value> document = wire::parse_json(text);
  if (!document.ok()) {
    Error error = document.error();
    error.code = "import-format";
    return std::move(error).hint("the file is cluster_job_log, a JSON list");
  }
  if (!document->is_array())
    return invalid("import-format", "the file is not a JSON list of jobs").hint("the file is cluster_job_log");
  Intake intake(options);
  for (const json::value& item : document->get_array()) {
    intake.count_row();
    item.is_object() ? take_job(item.get_object(), intake) : intake.drop("not a job");
  }
  return intake.finish(true);
}

}  // namespace sl::trace
