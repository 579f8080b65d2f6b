#include "sim/trace.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <boost/unordered/unordered_flat_set.hpp>
#include <charconv>
#include <cmath>
#include <memory>
#include <string_view>

namespace sl::sim {
namespace {

constexpr std::size_t columns_max = 1'000;
constexpr double seconds_max = 1e11;  // some three thousand years: anything above is a mistake

// The columns we read, and where the header puts them.
struct Columns {
  static constexpr int absent = -1;
  int id = absent, submit = absent, gpus = absent, duration = absent, estimate = absent, user = absent;
  std::size_t count = 0;
};

using Fields = std::vector<std::string_view>;

// Splits a line at commas; quotes are not part of the schema.
void split(std::string_view line, Fields& fields) {
  fields.clear();
  for (std::size_t at = 0; fields.size() <= columns_max;) {
    const std::size_t comma = line.find(',', at);
    fields.push_back(line.substr(at, comma == std::string_view::npos ? comma : comma - at));
    if (comma == std::string_view::npos) return;
    at = comma + 1;
  }
}

Result<Columns> read_header(std::string_view line) {
  Fields names;
  split(line, names);
  if (names.size() > columns_max) return invalid("trace-columns", "the header has more than 1000 columns");
  Columns columns;
  columns.count = names.size();
  const std::pair<std::string_view, int Columns::*> known[] = {{"job_id", &Columns::id},
                                                               {"submit_time_s", &Columns::submit},
                                                               {"submit_s", &Columns::submit},
                                                               {"gpus", &Columns::gpus},
                                                               {"duration_s", &Columns::duration},
                                                               {"run_s", &Columns::duration},
                                                               {"est_duration_s", &Columns::estimate},
                                                               {"user", &Columns::user}};
  for (std::size_t i = 0; i < names.size(); ++i) {
    for (const auto& [name, column] : known) {
      if (names[i] == name) columns.*column = static_cast<int>(i);
    }
  }
  for (const auto& [name, column] : known) {
    const bool needed = column == &Columns::id || column == &Columns::submit || column == &Columns::gpus ||
                        column == &Columns::duration;
    if (needed && columns.*column == Columns::absent) {
      return invalid("trace-columns", fmt::format("the trace has no column {}", name))
          .note("its header is: " + std::string(line.substr(0, 200)));
    }
  }
  return columns;
}

Error bad_row(std::int64_t line, std::string_view column, std::string_view value) {
  return invalid("trace-row",
                 fmt::format("line {}: {} is not a sensible number: {}", line, column, value.substr(0, 60)));
}

std::optional<double> seconds(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && std::isfinite(value) && value >= 0 && value < seconds_max ? std::optional(value) : std::nullopt;
}

class Reader {
 public:
  explicit Reader(const TraceOptions& options) : options_(options) {}

  Result<Trace> read(std::string_view text) {
    std::size_t at = 0;
    const std::string_view header = next_line(text, at);
    Result<Columns> columns = read_header(header);
    if (!columns.ok()) return columns.error();
    for (std::int64_t line = 2; at < text.size(); ++line) {
      const std::string_view row = next_line(text, at);
      if (row.empty()) continue;
      if (Status read = read_row(row, line, *columns); !read.ok()) return read.error();
    }
    return finish();
  }

 private:
  static std::string_view next_line(std::string_view text, std::size_t& at) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    return line;
  }

  Status read_row(std::string_view row, std::int64_t line, const Columns& columns) {
    ++trace_.report.rows;
    split(row, fields_);
    if (fields_.size() != columns.count) {
      return invalid("trace-row",
                     fmt::format("line {}: {} columns where the header has {}", line, fields_.size(), columns.count));
    }
    const auto field = [&](int column) { return fields_[static_cast<std::size_t>(column)]; };
    const auto submit = seconds(field(columns.submit)), duration = seconds(field(columns.duration)),
               gpus = seconds(field(columns.gpus));
    if (!submit) return bad_row(line, "submit_time_s", field(columns.submit));
    if (!duration) return bad_row(line, "duration_s", field(columns.duration));
    if (!gpus || *gpus != std::floor(*gpus) || *gpus > 1e6) return bad_row(line, "gpus", field(columns.gpus));
    TraceJob job;
    job.id = field(columns.id);
    job.submitted = Instant::at_seconds(*submit);
    job.duration = Duration::seconds(*duration);
    job.gpus = static_cast<int>(*gpus);
    if (columns.user != Columns::absent) job.user = field(columns.user);
    if (columns.estimate != Columns::absent && !field(columns.estimate).empty()) {
      const auto estimate = seconds(field(columns.estimate));
      if (!estimate) return bad_row(line, "est_duration_s", field(columns.estimate));
      job.estimate = Duration::seconds(*estimate);
    }
    return add(std::move(job), line);
  }

  Status add(TraceJob job, std::int64_t line) {
    if (!ids_.insert(job.id).second)
      return invalid("trace-duplicate-id", fmt::format("line {}: job {} is there twice", line, job.id));
    if (job.gpus == 0) return ++trace_.report.dropped_without_gpus, Status();
    if (job.gpus > options_.gpus_max) {
      if (options_.oversize == Oversize::fail) {
        return invalid("trace-oversize", fmt::format("line {}: job {} wants {} GPUs, more than {}", line, job.id,
                                                     job.gpus, options_.gpus_max))
            .hint("--oversize drop or --oversize clip");
      }
      if (options_.oversize == Oversize::drop) return ++trace_.report.dropped_oversize, Status();
      job.gpus = options_.gpus_max;
      ++trace_.report.clipped_gpus;
    }
    const Duration clipped = std::clamp(job.duration, options_.duration_min, options_.duration_max);
    trace_.report.clipped_duration += clipped != job.duration;
    job.duration = clipped;
    if (!trace_.jobs.empty() && job.submitted < trace_.jobs.back().submitted) trace_.report.was_unsorted = true;
    trace_.jobs.push_back(std::move(job));
    return {};
  }

  Result<Trace> finish() {
    if (trace_.jobs.empty())
      return invalid("trace-empty", fmt::format("no job is left of {} rows", trace_.report.rows));
    if (trace_.report.was_unsorted) {
      std::stable_sort(trace_.jobs.begin(), trace_.jobs.end(),
                       [](const TraceJob& a, const TraceJob& b) { return a.submitted < b.submitted; });
    }
    return std::move(trace_);
  }

  const TraceOptions& options_;
  Trace trace_;
  Fields fields_;
  boost::unordered_flat_set<std::string> ids_;
};

Result<std::string> read_file(const std::string& path) {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);  // reads plain files too
  if (!file) return not_found("no-such-file", "there is no trace " + path);
  gzbuffer(file.get(), 1 << 18);
  std::string text;
  std::size_t used = 0;
  for (int n = 1; n > 0;) {
    text.resize(used + (1 << 20));
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

Result<Trace> parse_trace(const std::string& text, const TraceOptions& options) { return Reader(options).read(text); }

Result<Trace> read_trace(const std::string& path, const TraceOptions& options) {
  Result<std::string> text = read_file(path);
  if (!text.ok()) return text.error();
  Result<Trace> trace = parse_trace(*text, options);
  if (!trace.ok()) return Error(trace.error()).note("in " + path);
  return trace;
}

}  // namespace sl::sim
