#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <charconv>
#include <cmath>

#include "sim/profiles.h"
#include "sim/trace.h"
#include "sim/trace_columns.h"

namespace sl::sim {
namespace {

constexpr double seconds_max = 1e11;  // some three thousand years: anything above is a mistake
constexpr double gpus_limit = 1e6;

// Whole numbers are what nearly all traces hold.
std::optional<std::int64_t> whole(std::string_view text) {
  if (text.empty() || text.size() > 11) return std::nullopt;
  std::int64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return value;
}

std::optional<double> number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool all = error == std::errc() && end == text.data() + text.size();
  return all && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::optional<Duration> time_of(std::string_view text) {
  if (const auto seconds = whole(text)) return Duration::whole_seconds(*seconds);
  const auto seconds = number(text);
  return seconds && *seconds >= 0 && *seconds < seconds_max ? std::optional(Duration::seconds(*seconds)) : std::nullopt;
}

std::optional<int> count_of(std::string_view text) {
  if (const auto n = whole(text))
    return *n <= static_cast<std::int64_t>(gpus_limit) ? std::optional(static_cast<int>(*n)) : std::nullopt;
  const auto n = number(text);  // "8.0"
  return n && *n >= 0 && *n == std::floor(*n) && *n <= gpus_limit ? std::optional(static_cast<int>(*n)) : std::nullopt;
}

// Whether a name was there before. Traces mostly number their jobs upwards, which costs nothing to check.
class Identities {
 public:
  bool is_new(std::string_view id, const std::vector<TraceJob>& before) {
    const auto n = whole(id);
    const bool plain = n && (id.front() != '0' || id.size() == 1);
    if (seen_.empty() && plain && *n > last_) return last_ = *n, true;
    if (seen_.empty()) {
      seen_.reserve(before.size() * 2);
      for (const TraceJob& job : before) seen_.insert(job.id());
    }
    return seen_.insert(id).second;
  }

 private:
  std::int64_t last_ = -1;
  boost::unordered_flat_set<std::string_view> seen_;
};

class Reader {
 public:
  Reader(std::string text, const TraceOptions& options)
      : options_(options), text_(std::make_shared<const std::string>(std::move(text))) {
    trace_.text = text_;
  }

  Result<Trace> read() {
    std::size_t at = 0;
    Result<Columns> columns = Columns::of_header(next_line(at));
    if (!columns.ok()) return columns.error();
    columns_ = *columns;
    trace_.jobs.reserve(text_->size() / 64);
    for (line_ = 2; at < text_->size(); ++line_) {
      const std::string_view row = next_line(at);
      if (row.empty()) continue;
      if (Status read = read_row(row); !read.ok()) return read.error();
    }
    trace_.report.rows = rows_;
    return finish_trace(std::move(trace_), options_);
  }

 private:
  std::string_view next_line(std::size_t& at) const {
    const std::size_t end = std::min(text_->find('\n', at), text_->size());
    std::string_view line = std::string_view(*text_).substr(at, end - at);
    at = end + 1;
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    return line;
  }
  std::string_view field(Column column) const { return columns_.of(fields_, column); }

  Error bad(Column column) const {
    return invalid("trace-row",
                   fmt::format("line {}: {} is not a sensible {}: {}", line_, Columns::name(column),
                               column == Column::profile ? "profile" : "number", field(column).substr(0, 60)));
  }

  Status read_row(std::string_view row) {
    ++rows_;
    split_fields(row, fields_);
    if (fields_.size() != columns_.count()) {
      return invalid("trace-row", fmt::format("line {}: {} columns where the header has {}", line_, fields_.size(),
                                              columns_.count()));
    }
    const auto submit = time_of(field(Column::submit)), duration = time_of(field(Column::duration));
    const auto gpus = count_of(field(Column::gpus));
    if (!submit) return bad(Column::submit);
    if (!duration) return bad(Column::duration);
    if (!gpus) return bad(Column::gpus);
    const std::string_view id = field(Column::id);
    if (id.empty()) return invalid("trace-row", fmt::format("line {}: the job has no job_id", line_));
    if (!identities_.is_new(id, trace_.jobs))
      return invalid("trace-duplicate-id", fmt::format("line {}: job {} is there twice", line_, id));
    TraceJob job;
    job.id_text = id.data();
    job.id_size = static_cast<std::uint32_t>(id.size());
    job.submitted = Instant{submit->us};
    job.duration = *duration;
    job.gpus = *gpus;
    job.user = user_of(field(Column::user));
    if (columns_.any_details()) {
      if (Status read = read_details(job); !read.ok()) return read;
    }
    trace_.jobs.push_back(job);
    return {};
  }

  // A trace without users may know tenants at least.
  std::uint32_t user_of(std::string_view name) {
    if (name.empty()) name = field(Column::virtual_cluster);
    if (name.empty()) return 0;
    if (name == last_user_) return last_user_index_;
    const auto [at, added] = users_.try_emplace(name, static_cast<std::uint32_t>(trace_.users.size()));
    if (added) trace_.users.emplace_back(name);
    last_user_ = name;
    return last_user_index_ = at->second;
  }

  Status read_details(TraceJob& job) {
    TraceDetails details;
    if (const Column wrong = read_numbers(details); wrong != Column::id) return bad(wrong);
    if (const std::string_view types = field(Column::gpu_type); !types.empty()) split_types(types, details.gpu_types);
    details.virtual_cluster = field(Column::virtual_cluster);
    details.family = field(Column::family);
    details.status = field(Column::status);
    if (const std::string_view name = field(Column::profile); !name.empty()) {
      auto model = find_profile(std::string(name));
      if (!model.ok()) return Error(bad(Column::profile)).note(model.error().notes.front());
      details.model = *model;
    }
    if (details == TraceDetails{}) return {};
    if ((details.gpus_min > 0 && details.gpus_min > job.gpus) || (details.gpus_max > 0 && details.gpus_max < job.gpus))
      return invalid("trace-row", fmt::format("line {}: gpus must lie between gpus_min and gpus_max", line_));
    if (!trace_.details.empty() && details == trace_.details.back()) {  // neighbours are often alike
      job.details = static_cast<std::uint32_t>(trace_.details.size() - 1);
      return {};
    }
    job.details = static_cast<std::uint32_t>(trace_.details.size());
    trace_.details.push_back(std::move(details));
    return {};
  }

  // Reads what is there into `to`; the column that is no number, Column::id when all are.
  Column read_numbers(TraceDetails& to) const {
    const auto read = [&](Column column, auto parse, auto keep) {
      const std::string_view text = field(column);
      if (text.empty()) return true;
      const auto value = parse(text);
      if (value) keep(*value);
      return value.has_value();
    };
    const auto amount = [](std::string_view text) {
      const auto value = number(text);
      return value && *value >= 0 && *value < 1e18 ? value : std::nullopt;
    };
    if (!read(Column::estimate, time_of, [&](Duration d) { to.estimate = d; })) return Column::estimate;
    if (!read(Column::deadline, time_of, [&](Duration d) { to.deadline = Instant{d.us}; })) return Column::deadline;
    const auto rank = [](std::string_view text) {
      const auto value = number(text);
      return value && std::fabs(*value) <= 1e6 ? value : std::nullopt;
    };
    if (!read(Column::priority, rank, [&](double p) { to.priority = static_cast<int>(p); })) return Column::priority;
    if (!read(Column::gpus_min, count_of, [&](int n) { to.gpus_min = n; })) return Column::gpus_min;
    if (!read(Column::gpus_max, count_of, [&](int n) { to.gpus_max = n; })) return Column::gpus_max;
    const auto share = [](std::string_view text) {
      const auto value = number(text);
      return value && *value > 0 && *value <= 1 ? value : std::nullopt;
    };
    if (!read(Column::gpu_share, share, [&](double s) { to.gpu_share = s; })) return Column::gpu_share;
    if (!read(Column::cpus, amount, [&](double n) { to.demand[Resource::cpu] = n; })) return Column::cpus;
    if (!read(Column::memory_mib, amount, [&](double n) { to.demand[Resource::memory] = n * 1048576; }))
      return Column::memory_mib;
    if (!read(Column::memory_bytes, amount, [&](double n) { to.demand[Resource::memory] = n; }))
      return Column::memory_bytes;
    return Column::id;
  }

  static void split_types(std::string_view text, std::vector<std::string>& types) {
    for (std::size_t at = 0; at <= text.size();) {
      const std::size_t bar = std::min(text.find('|', at), text.size());
      if (bar > at) types.emplace_back(text.substr(at, bar - at));
      at = bar + 1;
    }
  }

  const TraceOptions& options_;
  std::shared_ptr<const std::string> text_;
  Trace trace_;
  Columns columns_;
  Fields fields_;
  Identities identities_;
  boost::unordered_flat_map<std::string_view, std::uint32_t> users_;
  std::string_view last_user_;
  std::uint32_t last_user_index_ = 0;
  std::int64_t line_ = 2, rows_ = 0;
};

// False: it does not stay in the trace.
Result<bool> fit_job(TraceJob& job, const TraceOptions& options, TraceReport& report) {
  if (job.gpus == 0) return ++report.dropped_without_gpus, false;
  if (job.gpus > options.gpus_max) {
    if (options.oversize == Oversize::fail) {
      return invalid("trace-oversize",
                     fmt::format("job {} wants {} GPUs, more than {}", job.id(), job.gpus, options.gpus_max))
          .hint("--oversize drop or --oversize clip");
    }
    if (options.oversize == Oversize::drop) return ++report.dropped_oversize, false;
    job.gpus = options.gpus_max;
    ++report.clipped_gpus;
  }
  const Duration clipped = std::clamp(job.duration, options.duration_min, options.duration_max);
  report.clipped_duration += clipped != job.duration;
  job.duration = clipped;
  return true;
}

Result<std::string> read_file(const std::string& path) {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);  // reads plain files too
  if (!file) return not_found("no-such-file", "there is no trace " + path);
  gzbuffer(file.get(), 1 << 18);
  std::string text;
  std::size_t used = 0;
  for (int n = 1; n > 0;) {
    if (text.size() - used < (1 << 20)) text.resize(std::max<std::size_t>(1 << 23, text.size() * 3 / 2));
    n = gzread(file.get(), text.data() + used, 1 << 20);
    if (n > 0) used += static_cast<std::size_t>(n);
  }
  text.resize(used);
  int code = 0;
  const char* why = gzerror(file.get(), &code);
  if (code != Z_OK && code != Z_STREAM_END)
    return invalid("trace-damaged", "the trace " + path + " is cut off or damaged: " + (why ? why : ""));
  return text;
}

}  // namespace

Result<Trace> finish_trace(Trace trace, const TraceOptions& options) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < trace.jobs.size(); ++i) {
    TraceJob job = trace.jobs[i];
    const Result<bool> stays = fit_job(job, options, trace.report);
    if (!stays.ok()) return stays.error();
    if (!*stays) continue;
    if (kept > 0 && job.submitted < trace.jobs[kept - 1].submitted) trace.report.was_unsorted = true;
    trace.jobs[kept++] = job;
  }
  trace.jobs.resize(kept);
  if (kept == 0) return invalid("trace-empty", fmt::format("no job is left of {} rows", trace.report.rows));
  if (trace.report.was_unsorted) {
    std::stable_sort(trace.jobs.begin(), trace.jobs.end(),
                     [](const TraceJob& a, const TraceJob& b) { return a.submitted < b.submitted; });
  }
  if (options.jobs_max > 0 && trace.jobs.size() > static_cast<std::size_t>(options.jobs_max))
    trace.jobs.resize(static_cast<std::size_t>(options.jobs_max));
  trace.jobs.shrink_to_fit();
  return trace;
}

Result<Trace> parse_trace(std::string text, const TraceOptions& options) {
  return Reader(std::move(text), options).read();
}

Result<Trace> read_trace(const std::string& path, const TraceOptions& options) {
  Result<std::string> text = read_file(path);
  if (!text.ok()) return text.error();
  Result<Trace> trace = parse_trace(std::move(*text), options);
  if (!trace.ok()) return Error(trace.error()).note("in " + path);
  return trace;
}

}  // namespace sl::sim
