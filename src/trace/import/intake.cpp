#include "trace/import/intake.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "trace/numbers.h"
#include "wire/utf8.h"

namespace sl::trace {
namespace {

constexpr std::size_t name_size_max = 1000;

Duration micro(double seconds) { return Duration::seconds(seconds); }

std::optional<int> digits(std::string_view text, std::size_t at, std::size_t count) {
  const auto value = whole(text.substr(at, count));
  return value ? std::optional(static_cast<int>(*value)) : std::nullopt;
}

}  // namespace

std::string clean(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = wire::character_length(text);  // 0: no text
    const char first = text.front();
    const bool stays = length > 0 && first != '"' && static_cast<unsigned char>(first) >= ' ' && first != 127;
    const std::size_t taken = std::max<std::size_t>(1, length);
    // written out, so that two names stay two
    const std::string next =
        stays ? std::string(text.substr(0, length)) : fmt::format("%{:02X}", static_cast<unsigned char>(first));
    if (result.size() + next.size() > name_size_max) break;
    result += next;
    text.remove_prefix(taken);
  }
  return result;
}

std::optional<double> parse_date_time(std::string_view text) {
  if (text.size() != 19 || text[4] != '-' || text[7] != '-' || (text[10] != ' ' && text[10] != 'T') ||
      text[13] != ':' || text[16] != ':')
    return std::nullopt;
  const auto year = digits(text, 0, 4), month = digits(text, 5, 2), day = digits(text, 8, 2),
             hour = digits(text, 11, 2), minute = digits(text, 14, 2), second = digits(text, 17, 2);
  if (!year || !month || !day || !hour || !minute || !second || *hour > 23 || *minute > 59 || *second > 60)
    return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  const auto days = std::chrono::sys_days(date).time_since_epoch().count();
  return static_cast<double>(days) * 86400 + *hour * 3600 + *minute * 60 + *second;
}

const char* Intake::reason_against(const ForeignJob& job) const {
  if (job.id.empty()) return "no job id";
  if (job.gpus == 0 && !options_.keeps_without_gpus) return "no GPU";
  if (!(job.gpus >= 0) || job.gpus > gpus_limit) return "an invalid number of GPUs";
  if (!(std::fabs(job.submitted_s) < seconds_max / 2)) return "an invalid time";
  if (job.duration_s < 0) return "it ends before it starts";
  if (!(job.duration_s < seconds_max)) return "an invalid time";
  return nullptr;
}

void Intake::take(ForeignJob job) {
  if (const char* reason = reason_against(job)) return drop(reason);
  std::string id = clean(job.id);
  if (!seen_.insert(id).second) return drop("a job with this id came before");
  if (id != job.id || clean(job.user) != job.user)
    note("a name with bytes that are no text, written as %XX or cut off");
  TraceJob made;
  made.submitted = Instant{micro(job.submitted_s).us};
  made.duration = micro(job.duration_s);
  made.gpus = static_cast<int>(std::ceil(job.gpus - 1e-9));
  if (job.gpus > 0 && job.gpus < 1) {
    job.details.gpu_share = std::max(1e-6, std::round(job.gpus * 1e6) / 1e6);
  } else if (made.gpus > job.gpus + 1e-9) {
    note("rounded up to whole GPUs");
  }
  if (job.start_s && std::fabs(*job.start_s) < seconds_max)
    job.details.original_start = Instant{micro(*job.start_s).us};
  made.user = user_of(job.user);
  made.details = details_of(std::move(job.details));
  ids_ += id;
  id_ends_.push_back(ids_.size());
  trace_.jobs.push_back(made);
}

std::uint32_t Intake::user_of(std::string_view name) {
  if (name.empty()) return 0;
  const auto [at, added] = users_.try_emplace(clean(name), static_cast<std::uint32_t>(trace_.users.size()));
  if (added) trace_.users.push_back(at->first);
  return at->second;
}

std::uint32_t Intake::details_of(TraceDetails details) {
  for (std::string* text : {&details.virtual_cluster, &details.family, &details.status, &details.qos})
    *text = clean(*text);
  for (std::string& type : details.gpu_types) {
    type = clean(type);
    std::replace(type.begin(), type.end(), '|', '_');  // it separates types in our CSV
  }
  if (details == TraceDetails{}) return TraceJob::nothing_more;
  if (trace_.details.empty() || trace_.details.back() != details) trace_.details.push_back(std::move(details));
  return static_cast<std::uint32_t>(trace_.details.size() - 1);
}

void Intake::set_ids() {
  const auto text = std::make_shared<const std::string>(std::move(ids_));
  std::size_t begin = 0;
  for (std::size_t i = 0; i < trace_.jobs.size(); ++i) {
    trace_.jobs[i].id_text = text->data() + begin;
    trace_.jobs[i].id_size = static_cast<std::uint32_t>(id_ends_[i] - begin);
    begin = id_ends_[i];
  }
  trace_.source = text;
}

Result<Imported> Intake::finish(bool from_zero) {
  set_ids();
  trace_.report.rows = report_.rows;
  Instant first = Instant::never();
  for (const TraceJob& job : trace_.jobs) first = std::min(first, job.submitted);
  if (from_zero && !trace_.jobs.empty()) {
    const Duration shift{first.us};
    for (TraceJob& job : trace_.jobs) job.submitted = job.submitted - shift;
    for (TraceDetails& details : trace_.details) {
      if (details.original_start.happened()) details.original_start = details.original_start - shift;
    }
  }
  // Our format has no place for a start before the trace begins.
  for (TraceDetails& details : trace_.details) {
    if (details.original_start < Instant{0}) details.original_start = {};
  }
  Result<Trace> trace = finish_trace(std::move(trace_), options_);
  if (!trace.ok()) {
    Error error = trace.error();
    for (const auto& [reason, n] : report_.dropped) error.notes.push_back(std::to_string(n) + " left out: " + reason);
    return error;
  }
  return Imported{std::move(*trace), std::move(report_)};
}

}  // namespace sl::trace
