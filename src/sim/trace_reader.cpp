#include <fmt/format.h>

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>

#include "sim/profiles.h"
#include "sim/trace.h"
#include "sim/trace_columns.h"
#include "sim/trace_file.h"
#include "sim/trace_numbers.h"

namespace sl::sim {
namespace {

constexpr double mebibyte = 1024.0 * 1024;
constexpr std::size_t id_size_max = 1000;

// Whether a name was there before. Traces mostly number their jobs: a bit for each number is all that takes.
class Identities {
 public:
  bool is_new(std::string_view id) {
    const auto n = whole(id);
    const bool plain = n && *n < numbers_max && (id.front() != '0' || id.size() == 1);
    return plain ? is_new_number(static_cast<std::size_t>(*n)) : names_.insert(id).second;
  }

 private:
  static constexpr std::int64_t numbers_max = std::int64_t{1} << 27;  // 16 MiB of bits

  bool is_new_number(std::size_t n) {
    if (n / 64 >= numbers_.size()) numbers_.resize(std::max(n / 64 + 1, numbers_.size() * 2));
    std::uint64_t& word = numbers_[n / 64];
    const std::uint64_t bit = std::uint64_t{1} << (n % 64);
    const bool is_new = (word & bit) == 0;
    word |= bit;
    return is_new;
  }

  std::vector<std::uint64_t> numbers_;
  boost::unordered_flat_set<std::string_view> names_;
};

// Text of the detail columns -> details, so that jobs alike in these share them and nothing is parsed twice. A trace
// whose jobs all differ gains nothing, so beyond some thousand kinds only the neighbour is compared.
class SharedDetails {
 public:
  static constexpr std::uint32_t unknown = UINT32_MAX - 1;

  std::uint32_t find(const std::string& key) const {
    if (key == last_key_) return last_;
    const auto at = known_.find(key);
    return at == known_.end() ? unknown : at->second;
  }
  void remember(const std::string& key, std::uint32_t details) {
    if (known_.size() < kinds_max) known_.emplace(key, details);
    last_key_ = key;
    last_ = details;
  }

 private:
  static constexpr std::size_t kinds_max = 4096;
  boost::unordered_flat_map<std::string, std::uint32_t> known_;
  std::string last_key_;
  std::uint32_t last_ = unknown;
};

class Reader {
 public:
  Reader(std::string text, const TraceOptions& options)
      : options_(options), text_(std::make_shared<const std::string>(std::move(text))) {
    trace_.text = text_;
  }

  Result<Trace> read() {
    std::size_t at = 0;
    Result<Columns> columns = Columns::of_header(take_line(*text_, at));
    if (!columns.ok()) return columns.error();
    columns_ = *columns;
    if (!options_.everything) columns_.keep_for_simulation();
    for (std::size_t c = 0; c < column_count; ++c) {
      const auto column = static_cast<Column>(c);
      if (is_detail(column) && columns_.has(column)) detail_columns_.push_back(column);
    }
    trace_.jobs.reserve(rows_expected(at));
    for (line_ = 2; at < text_->size(); ++line_) {
      const std::string_view row = take_line(*text_, at);
      if (row.empty()) continue;
      if (Status read = read_row(row); !read.ok()) return read.error();
    }
    trace_.report.rows = rows_;
    if (!options_.everything) take_tenants_for_users();
    return finish_trace(std::move(trace_), options_);
  }

 private:
  // As many as there are when all are as long as the first.
  std::size_t rows_expected(std::size_t at) const {
    const std::string_view sample = std::string_view(*text_).substr(std::min(at, text_->size()), 1 << 16);
    const auto lines = static_cast<std::size_t>(std::count(sample.begin(), sample.end(), '\n'));
    return sample.empty() ? 0 : text_->size() / sample.size() * (lines + 1) + lines + 1;
  }

  std::string_view field(Column column) const { return columns_.of(fields_, column); }

  Error bad_row(const std::string& why) const { return invalid("trace-row", fmt::format("line {}: {}", line_, why)); }
  Error bad(Column column) const {
    return bad_row(fmt::format("{} is not a sensible {}: {}", Columns::name(column),
                               column == Column::profile ? "profile" : "number", shown(field(column))));
  }

  Status read_row(std::string_view row) {
    ++rows_;
    if (!split_fields(row, fields_)) return bad_row("a quote inside a field, or without its partner");
    if (fields_.size() != columns_.count())
      return bad_row(fmt::format("{}{} columns where the header has {}", fields_.size() > columns_max ? "over " : "",
                                 std::min(fields_.size(), columns_max), columns_.count()));
    const auto submit = time_of(field(Column::submit)), duration = time_of(field(Column::duration));
    const auto gpus = count_of(field(Column::gpus));
    if (!submit) return bad(Column::submit);
    if (!duration) return bad(Column::duration);
    if (!gpus) return bad(Column::gpus);
    TraceJob job;
    job.submitted = Instant{submit->us};
    job.duration = *duration;
    job.gpus = *gpus;
    if (Status named = read_id(job); !named.ok()) return named;
    job.user = user_of(field(Column::user));
    if (columns_.any_details()) {
      if (Status read = read_details(job); !read.ok()) return read;
    }
    trace_.jobs.push_back(job);
    return {};
  }

  Status read_id(TraceJob& job) {
    const std::string_view id = field(Column::id);
    if (id.empty()) return bad_row("the job has no job_id");
    if (id.size() > id_size_max) return bad_row(fmt::format("the job_id is longer than {} bytes", id_size_max));
    if (!identities_.is_new(id))
      return invalid("trace-duplicate-id", fmt::format("line {}: job {} is there twice", line_, shown(id)));
    job.id_text = id.data();
    job.id_size = static_cast<std::uint32_t>(id.size());
    return {};
  }

  // A trace that names no user at all may know tenants at least, and fairness among them is better than none.
  void take_tenants_for_users() {
    if (trace_.users.size() > 1) return;
    std::vector<std::uint32_t> user_of_details;
    for (const TraceDetails& details : trace_.details) user_of_details.push_back(user_of(details.virtual_cluster));
    for (TraceJob& job : trace_.jobs) {
      if (job.details != TraceJob::nothing_more) job.user = user_of_details[job.details];
    }
  }

  std::uint32_t user_of(std::string_view name) {
    if (name.empty()) return 0;
    if (name == last_user_) return last_user_index_;
    const auto [at, added] = users_.try_emplace(name, static_cast<std::uint32_t>(trace_.users.size()));
    if (added) trace_.users.emplace_back(name);
    last_user_ = name;
    return last_user_index_ = at->second;
  }

  Status read_details(TraceJob& job) {
    key_.clear();
    for (const Column column : detail_columns_) {
      const std::string_view text = field(column);
      if (!text.empty()) key_.append(1, static_cast<char>(column)).append(text).append(1, '\n');
    }
    if (key_.empty()) return {};
    job.details = shared_.find(key_);
    if (job.details == SharedDetails::unknown) {
      if (Status read = read_new_details(job); !read.ok()) return read;
      shared_.remember(key_, job.details);
    }
    const TraceDetails* details = trace_.details_of(job);
    if (!details) return {};
    if (details->gpus_min > job.gpus || (details->gpus_max > 0 && details->gpus_max < job.gpus))
      return bad_row("gpus must lie between gpus_min and gpus_max");
    return {};
  }

  Status read_new_details(TraceJob& job) {
    TraceDetails details;
    if (const Column wrong = read_numbers(details); wrong != Column::id) return bad(wrong);
    if (const std::string_view types = field(Column::gpu_type); !types.empty()) split_types(types, details.gpu_types);
    details.virtual_cluster = field(Column::virtual_cluster);
    details.family = field(Column::family);
    details.status = field(Column::status);
    details.qos = field(Column::qos);
    if (const std::string_view name = field(Column::profile); !name.empty()) {
      auto model = find_profile(std::string(name));
      if (!model.ok()) return Error(bad(Column::profile)).note(model.error().notes.front());
      details.model = *model;
    }
    job.details = TraceJob::nothing_more;
    if (details == TraceDetails{}) return {};
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
    const auto amount = [&](Column column, Resource resource, double unit) {
      return read(column, amount_of, [&](double n) { to.demand[resource] = n * unit; });
    };
    if (!read(Column::estimate, time_of, [&](Duration d) { to.estimate = d; })) return Column::estimate;
    if (!read(Column::deadline, time_of, [&](Duration d) { to.deadline = Instant{d.us}; })) return Column::deadline;
    if (!read(Column::priority, rank_of, [&](double p) { to.priority = static_cast<int>(p); })) return Column::priority;
    if (!read(Column::gpus_min, count_of, [&](int n) { to.gpus_min = n; })) return Column::gpus_min;
    if (!read(Column::gpus_max, count_of, [&](int n) { to.gpus_max = n; })) return Column::gpus_max;
    if (!read(Column::gpu_share, share_of, [&](double s) { to.gpu_share = s; })) return Column::gpu_share;
    if (!amount(Column::cpus, Resource::cpu, 1)) return Column::cpus;
    if (!amount(Column::memory_mib, Resource::memory, mebibyte)) return Column::memory_mib;
    if (!amount(Column::memory_bytes, Resource::memory, 1)) return Column::memory_bytes;
    if (!amount(Column::disk_mib, Resource::disk, mebibyte)) return Column::disk_mib;
    if (!amount(Column::network_mbit_s, Resource::network, 1e6)) return Column::network_mbit_s;
    if (!read(Column::iterations, amount_of, [&](double n) { to.iterations = n; })) return Column::iterations;
    if (!read(Column::original_start, time_of, [&](Duration d) { to.original_start = Instant{d.us}; }))
      return Column::original_start;
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
  std::vector<Column> detail_columns_;
  Fields fields_;
  Identities identities_;
  SharedDetails shared_;
  std::string key_;
  boost::unordered_flat_map<std::string_view, std::uint32_t> users_;
  std::string_view last_user_;
  std::uint32_t last_user_index_ = 0;
  std::int64_t line_ = 2, rows_ = 0;
};

// Whether it stays in the trace; it may be made narrower or of another length.
bool fit_job(TraceJob& job, const TraceOptions& options, TraceReport& report) {
  if (job.gpus == 0) return ++report.dropped_without_gpus, false;
  if (job.gpus > options.gpus_max) {
    if (options.oversize == Oversize::drop) return ++report.dropped_oversize, false;
    job.gpus = options.gpus_max;
    ++report.clipped_gpus;
  }
  const Duration clipped = std::min(std::max(job.duration, options.duration_min), options.duration_max);
  report.clipped_duration += clipped != job.duration;
  job.duration = clipped;
  return true;
}

Error too_wide(const TraceJob& job, const TraceOptions& options) {
  return invalid("trace-oversize",
                 fmt::format("job {} wants {} GPUs, more than {}", shown(job.id()), job.gpus, options.gpus_max))
      .hint("--oversize drop or --oversize clip");
}

}  // namespace

Result<Trace> finish_trace(Trace trace, const TraceOptions& options) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < trace.jobs.size(); ++i) {
    TraceJob job = trace.jobs[i];
    if (job.gpus > options.gpus_max && options.oversize == Oversize::fail) return too_wide(job, options);
    if (!fit_job(job, options, trace.report)) continue;
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
  if (trace.jobs.capacity() > trace.jobs.size() + trace.jobs.size() / 4) trace.jobs.shrink_to_fit();
  return trace;
}

Result<Trace> parse_trace(std::string text, const TraceOptions& options) {
  return Reader(std::move(text), options).read();
}

Result<Trace> read_trace(const std::string& path, const TraceOptions& options) {
  Result<std::string> text = read_text(path);
  if (!text.ok()) return text.error();
  Result<Trace> trace = parse_trace(std::move(*text), options);
  if (!trace.ok()) return Error(trace.error()).note("in " + path);
  return trace;
}

}  // namespace sl::sim
