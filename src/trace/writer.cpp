#include "trace/writer.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <charconv>

#include "base/csv.h"
#include "trace/columns.h"
#include "trace/numbers.h"
#include "trace/profiles.h"
#include "trace/roles.h"

namespace sl::trace {
namespace {

const TraceDetails nothing;

// Appends the shortest text that reads as the same number.
void append(std::string& to, double value) {
  char digits[40];
  to.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

void append(std::string& to, std::int64_t value) {
  char digits[24];
  to.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

// Appends seconds with up to six decimals, as many as needed.
void append_seconds(std::string& to, std::int64_t us) {
  if (us < 0 && us > -1'000'000) to.push_back('-');  // the zero before the point has no sign
  append(to, us / 1'000'000);
  std::int64_t rest = std::abs(us % 1'000'000);
  if (rest == 0) return;
  char digits[8] = ".000000";
  for (int i = 6; i > 0; --i, rest /= 10) digits[i] = static_cast<char>('0' + rest % 10);
  std::string_view shown(digits, 7);
  while (shown.back() == '0') shown.remove_suffix(1);
  to.append(shown);
}

void append_names(std::string& to, const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : "|") + name;
  append_csv_field(to, list);
}

void append_counts(std::string& to, const std::vector<int>& counts) {
  for (std::size_t i = 0; i < counts.size(); ++i) to += (i == 0 ? "" : "|") + std::to_string(counts[i]);
}

void append_if(std::string& to, double value, double unknown) {
  if (value != unknown) append(to, value);
}

template <typename T>
void append_if_known(std::string& to, const std::optional<T>& value) {
  if (value) append(to, static_cast<double>(*value));
}

void append_instant(std::string& to, Instant at) {
  if (at.happened() && !at.is_never()) append_seconds(to, at.us);
}

// Appends one detail of a job; nothing if the job does not have it.
void append_detail(std::string& to, Column column, const TraceDetails& details) {
  switch (column) {
    case Column::estimate:
      return details.estimate ? append_seconds(to, details.estimate->us) : void();
    case Column::deadline:
      return append_instant(to, details.deadline);
    case Column::priority:
      return append_if(to, details.priority, 0);
    case Column::gpus_min:
      return append_if(to, details.gpus_min, 0);
    case Column::gpus_max:
      return append_if(to, details.gpus_max, 0);
    case Column::gpu_share:
      return append_if(to, details.gpu_share, 1);
    case Column::gpu_type:
      return append_names(to, details.gpu_types);
    case Column::cpus:
      return append_if(to, details.demand[Resource::cpu], 0);
    case Column::memory_mib:
      return append_if(to, details.demand[Resource::memory] / mebibyte, 0);
    case Column::disk_mib:
      return append_if(to, details.demand[Resource::disk] / mebibyte, 0);
    case Column::network_mbit_s:
      return append_if(to, details.demand[Resource::network] / 1e6, 0);
    case Column::virtual_cluster:
      return append_csv_field(to, details.virtual_cluster);
    case Column::family:
      return append_csv_field(to, details.family);
    case Column::status:
      return append_csv_field(to, details.status);
    case Column::profile:
      if (details.profile) return append_csv_field(to, details.profile->family);
      return details.model ? append_csv_field(to, profile_name(*details.model)) : void();
    case Column::epochs:
      return details.model ? append_if_known(to, details.model->epochs_total) : void();
    case Column::batch_size:
      return details.model ? append_if_known(to, details.model->batch_size) : void();
    case Column::target_loss:
      return details.model ? append_if_known(to, details.model->target_loss) : void();
    case Column::budget:
      return details.model ? append_if_known(to, details.model->budget) : void();
    case Column::model_bytes:
      return details.model ? append_if_known(to, details.model->parameter_bytes) : void();
    case Column::largest_tensor_bytes:
      return details.model ? append_if_known(to, details.model->largest_tensor_bytes) : void();
    case Column::gpus_allowed:
      return details.model ? append_counts(to, details.model->gpu_counts_allowed) : void();
    case Column::roles:
      return details.model ? append_csv_field(to, to_text(details.model->roles)) : void();
    case Column::array:
      return append_csv_field(to, details.array);
    case Column::max_running:
      return append_if(to, details.max_running, 0);
    case Column::after:
      return append_names(to, details.after);
    case Column::on:
      return append_names(to, details.on);
    case Column::not_on:
      return append_names(to, details.not_on);
    case Column::qos:
      return append_csv_field(to, details.qos);
    case Column::iterations:
      return append_if(to, details.iterations, 0);
    case Column::original_start:
      return append_instant(to, details.original_start);
    case Column::id:
    case Column::submit:
    case Column::gpus:
    case Column::duration:
    case Column::user:
    case Column::memory_bytes:
      return;
  }
}

// In the order of the published traces we keep, then our own.
constexpr Column detail_columns[] = {Column::gpu_share,    Column::gpu_type,        Column::cpus,
                                     Column::memory_mib,   Column::virtual_cluster, Column::family,
                                     Column::iterations,   Column::status,          Column::qos,
                                     Column::deadline,     Column::estimate,        Column::original_start,
                                     Column::priority,     Column::gpus_min,        Column::gpus_max,
                                     Column::profile,      Column::disk_mib,        Column::network_mbit_s,
                                     Column::epochs,       Column::batch_size,      Column::target_loss,
                                     Column::budget,       Column::model_bytes,     Column::largest_tensor_bytes,
                                     Column::gpus_allowed, Column::roles,           Column::array,
                                     Column::max_running,  Column::after,           Column::on,
                                     Column::not_on};

// The details of jobs that stayed; those of others are not written.
std::vector<const TraceDetails*> used_details(const Trace& trace) {
  std::vector<bool> is_used(trace.details.size());
  for (const TraceJob& job : trace.jobs) {
    if (job.details != TraceJob::nothing_more) is_used[job.details] = true;
  }
  std::vector<const TraceDetails*> used;
  for (std::size_t i = 0; i < is_used.size(); ++i) {
    if (is_used[i]) used.push_back(&trace.details[i]);
  }
  return used;
}

std::vector<Column> used_columns(const Trace& trace) {
  const std::vector<const TraceDetails*> all = used_details(trace);
  std::vector<Column> used;
  for (const Column column : detail_columns) {
    std::string text;
    for (std::size_t i = 0; i < all.size() && text.empty(); ++i) append_detail(text, column, *all[i]);
    if (!text.empty()) used.push_back(column);
  }
  return used;
}

// The text of each kind of details is made once.
std::vector<std::string> detail_texts(const Trace& trace, const std::vector<Column>& columns) {
  std::vector<std::string> texts(trace.details.size() + 1);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    for (const Column column : columns) {
      texts[i].push_back(',');
      append_detail(texts[i], column, i == trace.details.size() ? nothing : trace.details[i]);
    }
  }
  return texts;
}

std::string header_of(const std::vector<Column>& columns, bool with_user) {
  std::string header = "job_id,submit_time_s,gpus,duration_s";
  if (with_user) header += ",user";
  for (const Column column : columns) header.append(1, ',').append(Columns::name(column));
  return header + "\n";
}

}  // namespace

std::string to_csv(const Trace& trace) {
  const std::vector<Column> columns = used_columns(trace);
  const std::vector<std::string> details = detail_texts(trace, columns);
  const bool with_user =
      std::any_of(trace.jobs.begin(), trace.jobs.end(), [](const TraceJob& job) { return job.user > 0; });
  std::string text = header_of(columns, with_user);
  for (const TraceJob& job : trace.jobs) {
    append_csv_field(text, job.id());
    append_seconds(text.append(1, ','), job.submitted.us);
    append(text.append(1, ','), std::int64_t{job.gpus});
    append_seconds(text.append(1, ','), job.duration.us);
    if (with_user) append_csv_field(text.append(1, ','), trace.users[job.user]);
    text += details[std::min<std::size_t>(job.details, trace.details.size())];
    text.push_back('\n');
  }
  return text;
}

std::vector<std::string> lost_in_csv(const Trace& trace) {
  const std::vector<const TraceDetails*> all = used_details(trace);
  const bool steps =
      std::ranges::any_of(all, [](const TraceDetails* d) { return d->model && d->model->steps_total.has_value(); });
  return steps ? std::vector<std::string>{"steps"} : std::vector<std::string>{};
}

// ---- Standard Workload Format ----

namespace {

// Natural numbers for names: numeric names are kept if all are numeric, else names are numbered in order of appearance.
class Numbers {
 public:
  void see(std::string_view name) {
    if (name.empty()) return;
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), value);
    const bool plain = error == std::errc() && end == name.data() + name.size() && value >= 0 &&
                       (name.front() != '0' || name.size() == 1);
    numeric_ = numeric_ && plain;
    at_.try_emplace(name, static_cast<std::int64_t>(at_.size()) + 1);
  }
  std::int64_t of(std::string_view name) const {
    if (name.empty()) return -1;
    if (!numeric_) return at_.at(name);
    std::int64_t value = 0;
    std::from_chars(name.data(), name.data() + name.size(), value);
    return value;
  }
  bool numeric() const { return numeric_; }

 private:
  boost::unordered_flat_map<std::string_view, std::int64_t> at_;
  bool numeric_ = true;
};

struct SwfNumbers {
  Numbers ids, users, groups, families, queues;
  explicit SwfNumbers(const Trace& trace) {
    for (const TraceJob& job : trace.jobs) {
      ids.see(job.id());
      users.see(trace.users[job.user]);
    }
    for (const TraceDetails* details : used_details(trace)) {
      groups.see(details->virtual_cluster);
      families.see(details->family);
      queues.see(details->qos);
    }
  }
};

// 0 failed, 1 completed, 5 cancelled; the words are those of the formats we import.
std::int64_t swf_status(const std::string& status) {
  const auto is = [&](std::initializer_list<const char*> words) {
    return std::any_of(words.begin(), words.end(), [&](const char* word) { return status == word; });
  };
  if (is({"completed", "COMPLETED", "Pass", "Terminated", "Succeeded"})) return 1;
  if (is({"failed", "FAILED", "Failed", "TIMEOUT", "NODE_FAIL"})) return 0;
  return is({"cancelled", "CANCELLED", "Killed"}) ? 5 : -1;
}

struct NotInSwf {
  const char* words;
  std::vector<Column> columns;
};
const NotInSwf not_in_swf[] = {{"deadlines", {Column::deadline}},
                               {"ranges of GPUs", {Column::gpus_min, Column::gpus_max, Column::gpus_allowed}},
                               {"shares and types of GPUs", {Column::gpu_share, Column::gpu_type}},
                               {"profiles", {Column::profile}},
                               {"facts of trainings",
                                {Column::epochs, Column::batch_size, Column::target_loss, Column::budget,
                                 Column::model_bytes, Column::largest_tensor_bytes, Column::iterations}},
                               {"roles", {Column::roles}},
                               {"CPUs", {Column::cpus}},
                               {"disk and network", {Column::disk_mib, Column::network_mbit_s}},
                               {"arrays", {Column::array}},
                               {"what jobs come after", {Column::after}},
                               {"choices of servers", {Column::on, Column::not_on}},
                               {"priorities", {Column::priority}}};

void append_swf(std::string& to, const Trace& trace, const TraceJob& job, const SwfNumbers& numbers) {
  const TraceDetails* own = trace.details_of(job);
  const TraceDetails& details = own ? *own : nothing;
  append(to, numbers.ids.of(job.id()));
  append_seconds(to.append(1, ' '), job.submitted.us);
  to.push_back(' ');
  details.original_start.happened()
      ? append_seconds(to, std::max<std::int64_t>(0, (details.original_start - job.submitted).us))
      : void(to.append("-1"));
  append_seconds(to.append(1, ' '), job.duration.us);
  append(to.append(1, ' '), std::int64_t{job.gpus});
  to.append(" -1 -1 ");
  append(to, std::int64_t{job.gpus});
  to.push_back(' ');
  details.estimate ? append_seconds(to, details.estimate->us) : void(to.append("-1"));
  const double memory = details.demand[Resource::memory];
  to.push_back(' ');
  memory > 0 ? append(to, memory / 1024 / std::max(1, job.gpus)) : void(to.append("-1"));
  for (const std::int64_t number :
       {swf_status(details.status), numbers.users.of(trace.users[job.user]), numbers.groups.of(details.virtual_cluster),
        numbers.families.of(details.family), numbers.queues.of(details.qos)})
    append(to.append(1, ' '), number);
  to.append(" -1 -1 -1\n");
}

}  // namespace

std::string to_swf(const Trace& trace) {
  const SwfNumbers numbers(trace);
  std::string text = "; Version: 2.2\n; MaxJobs: ";
  append(text, static_cast<std::int64_t>(trace.jobs.size()));
  text += "\n; Note: processors are GPUs\n";
  for (const TraceJob& job : trace.jobs) append_swf(text, trace, job, numbers);
  return text;
}

std::vector<std::string> lost_in_swf(const Trace& trace) {
  const SwfNumbers numbers(trace);
  std::vector<std::string> lost;
  if (!numbers.ids.numeric()) lost.push_back("job ids (numbered instead)");
  if (!numbers.users.numeric()) lost.push_back("names of users (numbered instead)");
  if (!numbers.groups.numeric() || !numbers.families.numeric() || !numbers.queues.numeric())
    lost.push_back("names of virtual clusters, models and queues (numbered instead)");
  const std::vector<Column> used = used_columns(trace);
  for (const auto& [words, columns] : not_in_swf) {
    if (std::ranges::find_first_of(used, columns) != used.end()) lost.emplace_back(words);
  }
  return lost;
}

}  // namespace sl::trace
