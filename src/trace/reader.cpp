#include <fmt/format.h>

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <cmath>
#include <map>
#include <sstream>

#include "base/csv.h"
#include "trace/columns.h"
#include "trace/numbers.h"
#include "trace/profiles.h"
#include "trace/roles.h"
#include "trace/text_file.h"
#include "trace/trace.h"
#include "wire/utf8.h"

namespace sl::trace {
namespace {

constexpr std::size_t id_size_max = 1000;

// Tells whether an id is new. Most traces number their jobs; one bit per number is enough then.
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

// Maps the text of the detail columns to details, so that jobs with equal details share them and nothing is parsed
// twice. A trace whose jobs all differ gains nothing, so beyond a few thousand kinds only the previous job is compared.
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
      : options_(options), source_(std::make_shared<Source>(std::move(text))), rows_(source_->text) {}

  Result<Trace> read() {
    rows_.next();
    Result<Columns> columns = Columns::of_header(rows_);
    if (!columns.ok()) return columns.error();
    if (!wire::is_utf8(source_->text)) return not_utf8();
    columns_ = *columns;
    if (!options_.everything) columns_.keep_for_simulation();
    for (std::size_t c = 0; c < column_count; ++c) {
      const auto column = static_cast<Column>(c);
      if (is_detail(column) && columns_.has(column)) detail_fields_.push_back(columns_.position(column));
    }
    trace_.jobs.reserve(rows_expected());
    while (rows_.next()) {
      if (Status read = read_row(); !read.ok()) return read.error();
    }
    source_->unquoted = rows_.take_unquoted();
    trace_.source = std::move(source_);
    if (!options_.everything) take_tenants_for_users();
    return finish_trace(std::move(trace_), options_);
  }

 private:
  struct Source {  // the text that ids point into
    explicit Source(std::string file) : text(std::move(file)) {}
    const std::string text;
    std::deque<std::string> unquoted;
  };

  // As many as there would be if all were as long as the first ones.
  std::size_t rows_expected() const {
    const std::string_view sample = std::string_view(source_->text).substr(rows_.position(), 1 << 16);
    const auto lines = static_cast<std::size_t>(std::count(sample.begin(), sample.end(), '\n'));
    return sample.empty() ? 0 : source_->text.size() / sample.size() * (lines + 1) + lines + 1;
  }

  Error not_utf8() const {
    std::istringstream lines(source_->text);
    std::int64_t number = 0;
    for (std::string line; std::getline(lines, line);) {
      ++number;
      if (!wire::is_utf8(line)) break;
    }
    return invalid("trace-row", fmt::format("line {} is no UTF-8 text", number))
        .hint("iconv -f ISO-8859-1 -t UTF-8 converts what was written in another character set");
  }

  std::string_view field(Column column) const { return columns_.of(rows_.fields(), column); }

  Error bad_row(const std::string& why) const {
    return invalid("trace-row", fmt::format("line {}: {}", rows_.line(), why));
  }
  Error bad(Column column) const {
    const char* const expected = column == Column::profile        ? "profile"
                                 : column == Column::gpus_allowed ? "list of numbers, like 1|2|4"
                                 : column == Column::roles        ? "list of roles, like ps 1 gpus=0|worker 1..4 cpus=2"
                                 : is_list(column)                ? "list, like a|b"
                                 : is_time(column) && number(field(column))
                                     ? "time, which is at least 0 and below 100,000,000,000 s"
                                 : is_count(column) ? "whole number"
                                                    : "number";
    return bad_row(fmt::format("{} is not a valid {}: {}", Columns::name(column), expected, shown(field(column))));
  }

  Status read_row() {
    ++trace_.report.rows;
    if (rows_.is_malformed()) return bad_row("a quote inside an unquoted field, or an unclosed quote");
    if (const std::size_t count = rows_.fields().size(); count != columns_.count())
      return bad_row(fmt::format("{}{} columns where the header has {}", count > csv_fields_max ? "over " : "",
                                 std::min(count, csv_fields_max), columns_.count()));
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
      return invalid("trace-duplicate-id", fmt::format("line {}: job {} appears twice", rows_.line(), shown(id)));
    job.id_text = id.data();
    job.id_size = static_cast<std::uint32_t>(id.size());
    return {};
  }

  // A trace that names no users may still name tenants, and fairness among those is better than none.
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
    for (std::size_t i = 0; i < detail_fields_.size(); ++i) {
      const std::string_view text = rows_.fields()[detail_fields_[i]];
      if (!text.empty()) key_.append(1, static_cast<char>(i)).append(text).append(1, '\n');
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
    if (job.gpus > 0 && count_of(field(Column::gpus_min)) == 0)
      return bad_row("gpus_min is 1 at least, or empty: as many as gpus");
    return check_counts(job, *details);
  }

  Status check_counts(const TraceJob& job, const TraceDetails& details) const {
    if (!details.model || details.model->gpu_counts_allowed.empty()) return {};
    if (!details.model->roles.empty())
      return bad_row("a job with roles takes its GPUs from them, not from gpus_allowed");
    const std::vector<int>& counts = details.model->gpu_counts_allowed;
    const auto is_allowed = [&](int count) { return count == 0 || std::ranges::binary_search(counts, count); };
    if (!is_allowed(job.gpus) || !is_allowed(details.gpus_min) || !is_allowed(details.gpus_max))
      return bad_row("gpus, gpus_min and gpus_max must be among gpus_allowed");
    return {};
  }

  Status read_new_details(TraceJob& job) {
    TraceDetails details;
    if (const Column wrong = read_numbers(details); wrong != Column::id) return bad(wrong);
    if (const Column wrong = read_lists(details); wrong != Column::id) return bad(wrong);
    details.virtual_cluster = field(Column::virtual_cluster);
    details.family = field(Column::family);
    details.array = field(Column::array);
    details.status = field(Column::status);
    details.qos = field(Column::qos);
    if (Status read = read_profile(details); !read.ok()) return read;
    if (const Column wrong = read_statements(details); wrong != Column::id) return bad(wrong);
    job.details = TraceJob::nothing_more;
    if (details.max_running > 0 && details.array.empty()) return bad_row("max_running without an array");
    if (details == TraceDetails{}) return {};
    job.details = static_cast<std::uint32_t>(trace_.details.size());
    trace_.details.push_back(std::move(details));
    return {};
  }

  Status read_profile(TraceDetails& details) const {
    const std::string_view name = field(Column::profile);
    if (name.empty()) {
      const auto given = options_.profiles.find(details.family);
      if (given != options_.profiles.end()) details.profile = given->second;
      return {};
    }
    if ((details.profile = find_training(name, options_.profiles))) return {};
    auto model = find_profile(std::string(name));
    if (!model.ok()) return Error(bad(Column::profile)).note(model.error().notes.front());
    details.model = *model;
    return {};
  }

  // Reads what the user states about the training. Returns the column that is wrong, Column::id if none is.
  Column read_statements(TraceDetails& details) const {
    constexpr Column statements[] = {Column::epochs,       Column::batch_size,  Column::target_loss,
                                     Column::budget,       Column::model_bytes, Column::largest_tensor_bytes,
                                     Column::gpus_allowed, Column::roles};
    if (std::ranges::all_of(statements, [&](Column column) { return field(column).empty(); })) return Column::id;
    auto model = details.model ? std::make_shared<JobModel>(*details.model) : std::make_shared<JobModel>();
    const auto read = [&](Column column, auto parse, auto& into) {
      const std::string_view text = field(column);
      if (text.empty()) return true;
      const auto value = parse(text);
      if (value) into = *value;
      return value.has_value();
    };
    if (!read(Column::epochs, count_of, model->epochs_total)) return Column::epochs;
    if (!read(Column::batch_size, count_of, model->batch_size)) return Column::batch_size;
    if (!read(Column::target_loss, amount_of, model->target_loss)) return Column::target_loss;
    if (!read(Column::budget, amount_of, model->budget)) return Column::budget;
    if (!read(Column::model_bytes, bytes_of, model->parameter_bytes)) return Column::model_bytes;
    if (!read(Column::largest_tensor_bytes, bytes_of, model->largest_tensor_bytes)) return Column::largest_tensor_bytes;
    if (!read(Column::gpus_allowed, counts_of, model->gpu_counts_allowed)) return Column::gpus_allowed;
    if (!read(Column::roles, parse_roles, model->roles)) return Column::roles;
    take_range(*model, details);
    details.model = std::move(model);
    return Column::id;
  }

  // Where the trace gives no range of GPUs, it follows from the numbers that are allowed or from the roles.
  static void take_range(const JobModel& model, TraceDetails& details) {
    if (details.gpus_min > 0 || details.gpus_max > 0) return;
    if (!model.gpu_counts_allowed.empty()) {
      details.gpus_min = model.gpu_counts_allowed.front();
      details.gpus_max = model.gpu_counts_allowed.back();
    }
    for (const Role& role : model.roles) {
      details.gpus_min += role.gpus * role.count_min;
      details.gpus_max += role.gpus * role.count_wanted;
    }
  }

  // Reads the columns that have a value into `to`. Returns the one that is not a number, Column::id if all are.
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
    if (!read(Column::priority, whole_rank_of, [&](int p) { to.priority = p; })) return Column::priority;
    if (!read(Column::gpus_min, count_of, [&](int n) { to.gpus_min = n; })) return Column::gpus_min;
    if (!read(Column::gpus_max, count_of, [&](int n) { to.gpus_max = n; })) return Column::gpus_max;
    if (!read(Column::gpu_share, share_of, [&](double s) { to.gpu_share = s; })) return Column::gpu_share;
    if (!amount(Column::cpus, Resource::cpu, 1)) return Column::cpus;
    if (!amount(Column::memory_mib, Resource::memory, mebibyte)) return Column::memory_mib;
    if (!amount(Column::memory_bytes, Resource::memory, 1)) return Column::memory_bytes;
    if (!amount(Column::disk_mib, Resource::disk, mebibyte)) return Column::disk_mib;
    if (!amount(Column::network_mbit_s, Resource::network, 1e6)) return Column::network_mbit_s;
    if (!read(Column::max_running, count_of, [&](int n) { to.max_running = n; })) return Column::max_running;
    if (!read(Column::iterations, amount_of, [&](double n) { to.iterations = n; })) return Column::iterations;
    if (!read(Column::original_start, time_of, [&](Duration d) { to.original_start = Instant{d.us}; }))
      return Column::original_start;
    return Column::id;
  }

  static std::optional<int> whole_rank_of(std::string_view text) {  // 0.9 and 0.1 must not become equal
    const auto rank = rank_of(text);
    if (!rank || *rank != std::trunc(*rank)) return std::nullopt;
    return static_cast<int>(*rank);
  }
  static bool is_time(Column column) {
    return column == Column::submit || column == Column::duration || column == Column::estimate ||
           column == Column::deadline || column == Column::original_start;
  }
  static bool is_count(Column column) {
    return column == Column::gpus || column == Column::gpus_min || column == Column::gpus_max ||
           column == Column::max_running;
  }
  static bool is_list(Column column) {
    return column == Column::gpu_type || column == Column::after || column == Column::on || column == Column::not_on;
  }
  // Returns the column that is no list of names, Column::id if all are.
  Column read_lists(TraceDetails& to) const {
    const auto read = [&](Column column, auto keep) {
      auto names = names_in(field(column));
      if (names) keep(std::move(*names));
      return names.has_value();
    };
    using Names = std::vector<std::string>;
    if (!read(Column::gpu_type, [&](Names names) { to.gpu_types = std::move(names); })) return Column::gpu_type;
    if (!read(Column::after, [&](Names names) { to.after = std::move(names); })) return Column::after;
    if (!read(Column::on, [&](Names names) { to.on = std::move(names); })) return Column::on;
    if (!read(Column::not_on, [&](Names names) { to.not_on = std::move(names); })) return Column::not_on;
    return Column::id;
  }
  // Nothing if a name is missing, as in "V100|".
  static std::optional<std::vector<std::string>> names_in(std::string_view text) {
    std::vector<std::string> names;
    for (std::size_t at = 0; !text.empty() && at <= text.size();) {
      const std::size_t bar = std::min(text.find('|', at), text.size());
      if (bar == at) return std::nullopt;
      names.emplace_back(text.substr(at, bar - at));
      at = bar + 1;
    }
    return names;
  }

  const TraceOptions& options_;
  std::shared_ptr<Source> source_;
  CsvRows rows_;
  Trace trace_;
  Columns columns_;
  std::vector<std::size_t> detail_fields_;  // where in a row
  Identities identities_;
  SharedDetails shared_;
  std::string key_;
  boost::unordered_flat_map<std::string_view, std::uint32_t> users_;
  std::string_view last_user_;
  std::uint32_t last_user_index_ = 0;
};

// The most GPUs within the limit that the job may run on; 0: it names none that small.
int clipped_gpus(const TraceDetails* details, int gpus_max) {
  if (!details || !details->model || details->model->gpu_counts_allowed.empty()) return gpus_max;
  const std::vector<int>& counts = details->model->gpu_counts_allowed;
  const auto above = std::ranges::upper_bound(counts, gpus_max);
  return above == counts.begin() ? 0 : *(above - 1);
}

// The details of a job that was clipped to `gpus`: its range ends there too. `known` has those that were made.
std::uint32_t narrowed(Trace& trace, std::uint32_t details, int gpus, std::map<std::uint32_t, std::uint32_t>& known) {
  if (details == TraceJob::nothing_more || trace.details[details].gpus_max <= gpus) return details;
  const auto [at, is_new] = known.try_emplace(details, static_cast<std::uint32_t>(trace.details.size()));
  if (is_new) {
    TraceDetails narrow = trace.details[details];
    narrow.gpus_min = std::min(narrow.gpus_min, gpus);
    narrow.gpus_max = std::min(narrow.gpus_max, gpus);
    trace.details.push_back(std::move(narrow));
  }
  return at->second;
}

// Whether the job stays in the trace; its width or length may be changed.
bool fit_job(TraceJob& job, const TraceDetails* details, const TraceOptions& options, TraceReport& report) {
  if (job.gpus == 0 && !options.keeps_without_gpus) return ++report.dropped_without_gpus, false;
  if (job.gpus > options.gpus_max) {
    const int clipped = options.oversize == Oversize::clip ? clipped_gpus(details, options.gpus_max) : 0;
    if (clipped == 0) return ++report.dropped_oversize, false;
    job.gpus = clipped;
    ++report.clipped_gpus;
  }
  const Duration clipped = std::min(std::max(job.duration, options.duration_min), options.duration_max);
  report.clipped_duration += clipped != job.duration;
  job.duration = clipped;
  return true;
}

Error too_wide(const TraceJob& job, const TraceOptions& options) {
  return invalid("trace-oversize",
                 fmt::format("job {} asks for {} GPUs, more than {}", shown(job.id()), job.gpus, options.gpus_max))
      .hint("--oversize drop or --oversize clip");
}

}  // namespace

namespace {

void set_restart_costs(Trace& trace, const std::map<std::string, Duration>& by_family) {
  if (by_family.empty()) return;
  for (TraceDetails& details : trace.details) {
    const auto cost = by_family.find(details.profile ? details.profile->family : details.family);
    if (cost == by_family.end()) continue;
    JobModel model = details.model ? *details.model : JobModel{};
    model.restart_cost = cost->second;
    details.model = std::make_shared<const JobModel>(std::move(model));
  }
}

// Whether they ask for the same: what only tells of the cluster that they come from may differ.
bool are_alike(const Trace& trace, const TraceJob& a, const TraceJob& b) {
  if (a.submitted != b.submitted || a.gpus != b.gpus || a.user != b.user) return false;
  if (a.details == b.details) return true;
  const auto asked = [](TraceDetails details) {
    details.status = "", details.iterations = 0, details.original_start = {};
    return details;
  };
  TraceDetails first = asked(*trace.details_of(a)), second = asked(*trace.details_of(b));
  if (first.model && second.model && *first.model == *second.model) second.model = first.model;
  return first == second;
}

std::string_view array_of(const Trace& trace, const TraceJob& job) {
  const TraceDetails* details = trace.details_of(job);
  return details ? std::string_view(details->array) : std::string_view();
}

using Ids = boost::unordered_flat_map<std::string_view, std::size_t>;  // where each job is, and each array

// None if nobody waits for another job.
Ids places_if_needed(const Trace& trace) {
  Ids places;
  const bool is_needed =
      std::ranges::any_of(trace.details, [](const TraceDetails& details) { return !details.after.empty(); });
  if (!is_needed) return places;
  Ids arrays;  // with the place of the last member
  for (std::size_t i = 0; i < trace.jobs.size(); ++i) {
    places.emplace(trace.jobs[i].id(), i);
    if (const std::string_view array = array_of(trace, trace.jobs[i]); !array.empty()) arrays[array] = i;
  }
  places.insert(arrays.begin(), arrays.end());
  return places;
}

// Jobs wait for earlier ones. Those that were left out are waited for no more. `rows`: all jobs of the file.
Status settle_after(Trace& trace, const Ids& rows) {
  if (rows.empty()) return {};
  const Ids places = places_if_needed(trace);
  std::vector<bool> is_settled(trace.details.size());
  for (std::size_t i = 0; i < trace.jobs.size(); ++i) {
    const TraceJob& job = trace.jobs[i];
    if (job.details == TraceJob::nothing_more || is_settled[job.details]) continue;  // those that share them come later
    is_settled[job.details] = true;
    std::vector<std::string>& after = trace.details[job.details].after;
    const auto is_later = [&](const std::string& id) { return places.contains(id) && places.at(id) >= i; };
    for (const std::string& id : after) {
      if (!rows.contains(id) || is_later(id))
        return invalid("trace-after",
                       fmt::format("job {} is after {}, which is not submitted before it", shown(job.id()), shown(id)));
    }
    std::erase_if(after, [&](const std::string& id) { return !places.contains(id); });
  }
  return {};
}

Status check_arrays(const Trace& trace) {
  boost::unordered_flat_set<std::string_view> known;
  for (std::size_t i = 0; i < trace.jobs.size(); ++i) {
    const std::string_view array = array_of(trace, trace.jobs[i]);
    if (array.empty()) continue;
    const bool goes_on = i > 0 && array_of(trace, trace.jobs[i - 1]) == array;
    const std::string both = fmt::format("job {} of array {}", shown(trace.jobs[i].id()), shown(array));
    if (!goes_on && !known.insert(array).second)
      return invalid("trace-array", both + " is apart from the others: jobs of an array follow each other");
    if (goes_on && !are_alike(trace, trace.jobs[i - 1], trace.jobs[i]))
      return invalid("trace-array", both + " is not as the one before: only their job_id and duration_s may differ");
  }
  return {};
}

}  // namespace

std::size_t array_at(const Trace& trace, std::size_t job) {
  const std::string_view array = array_of(trace, trace.jobs[job]);
  if (array.empty()) return 0;
  std::size_t end = job + 1;
  while (end < trace.jobs.size() && array_of(trace, trace.jobs[end]) == array) ++end;
  return end - job;
}

Error nothing_left(const TraceReport& report) {
  Error error =
      invalid("trace-empty", fmt::format("no job is left of {} row{}", report.rows, report.rows == 1 ? "" : "s"));
  if (report.dropped_without_gpus > 0)
    error.notes.push_back(fmt::format("{} ask for no GPU", report.dropped_without_gpus));
  if (report.dropped_oversize > 0)
    error.notes.push_back(fmt::format("{} ask for more GPUs than may be", report.dropped_oversize));
  return error;
}

Result<Trace> finish_trace(Trace trace, const TraceOptions& options) {
  set_restart_costs(trace, options.restart_by_family);
  const Ids rows = places_if_needed(trace);
  std::map<std::uint32_t, std::uint32_t> narrow;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < trace.jobs.size(); ++i) {
    TraceJob job = trace.jobs[i];
    if (job.gpus > options.gpus_max && options.oversize == Oversize::fail) return too_wide(job, options);
    if (!fit_job(job, trace.details_of(job), options, trace.report)) continue;
    if (job.gpus < trace.jobs[i].gpus) job.details = narrowed(trace, job.details, job.gpus, narrow);
    if (kept > 0 && job.submitted < trace.jobs[kept - 1].submitted) trace.report.was_unsorted = true;
    trace.jobs[kept++] = job;
  }
  trace.jobs.resize(kept);
  if (kept == 0) return nothing_left(trace.report);
  if (trace.report.was_unsorted) {
    std::stable_sort(trace.jobs.begin(), trace.jobs.end(),
                     [](const TraceJob& a, const TraceJob& b) { return a.submitted < b.submitted; });
  }
  if (Status after = settle_after(trace, rows); !after.ok()) return after.error();
  if (Status arrays = check_arrays(trace); !arrays.ok()) return arrays.error();
  if (options.jobs_max > 0 && trace.jobs.size() > static_cast<std::size_t>(options.jobs_max))
    trace.jobs.resize(static_cast<std::size_t>(options.jobs_max));
  if (trace.jobs.capacity() > trace.jobs.size() + trace.jobs.size() / 4) trace.jobs.shrink_to_fit();
  return trace;
}

Result<Trace> parse_trace(std::string text, const TraceOptions& options) {
  return Reader(std::move(text), options).read();
}

Result<Trace> read_trace(const std::string& path, const TraceOptions& options) {
  Result<std::string> text = read_text(path, options.text_max);
  if (!text.ok()) return text.error();
  Result<Trace> trace = parse_trace(std::move(*text), options);
  if (!trace.ok()) return Error(trace.error()).note("in " + path);
  return trace;
}

}  // namespace sl::trace
