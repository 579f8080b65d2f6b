#include "store/sqlite.h"

#include <unistd.h>

#include <cctype>
#include <cmath>
#include <cstring>
#include <filesystem>

namespace sl::store {
namespace {

constexpr std::array job_numbers = {"id",
                                    "submitted_us",
                                    "state_since_us",
                                    "first_start_us",
                                    "last_start_us",
                                    "finished_us",
                                    "attempt",
                                    "run_us",
                                    "attained_gpu_us",
                                    "preemptions",
                                    "migrations",
                                    "resizes",
                                    "failures",
                                    "priority",
                                    "held",
                                    "cancel_requested",
                                    "exit_code",
                                    "signal",
                                    "annotation_micro",
                                    "quick_requeues",
                                    "group_id",
                                    "member_index"};
constexpr std::array job_texts = {"user_name",     "name",       "spec_json",     "state",
                                  "server",        "gpus",       "failure_kind",  "failure_message",
                                  "progress_json", "extra_json", "telemetry_json"};
static_assert(job_numbers.size() == job_number_count && job_texts.size() == job_text_count);

template <typename Names>
void append_names(std::string& text, const Names& names) {
  for (const char* name : names) text += (text.empty() ? "" : ", ") + std::string(name);
}

template <typename Row>  // JobRow or const JobRow
auto texts_of(Row& r) {
  return std::array{&r.user,          &r.name,       &r.spec_json,     &r.state,
                    &r.server,        &r.gpus,       &r.failure_kind,  &r.failure_message,
                    &r.progress_json, &r.extra_json, &r.telemetry_json};
}

template <typename Row>  // EventRow or const EventRow
auto event_texts_of(Row& r) {
  return std::array{&r.kind, &r.server, &r.actor_type, &r.actor_name, &r.from, &r.to, &r.text, &r.data_json};
}

}  // namespace

const std::string job_columns = [] {
  std::string text;
  append_names(text, job_numbers);
  append_names(text, job_texts);
  return text;
}();
const std::string placement_columns =
    "job_id, incarnation, rank, attempt, ended_us, has_checkpoint, server, cluster, gpus, gpu_uuids";
const std::string event_columns =
    "seq, at_us, job_id, kind, server, actor_type, actor_name, from_state, to_state, text, data_json";

const std::string estimate_columns =
    "job_id, shown_us, p10_us, p50_us, p90_us, raw_p10_us, raw_p50_us, raw_p90_us, actual_us, target, policy, basis";

const std::string regret_columns =
    "at_us, since_us, jobs, draws, in_force_us, shadow_us, mean_us, low_us, high_us, in_force, shadow";

Error translate(const std::exception& thrown) {
  const std::string text = thrown.what();
  if (text.find("full") != std::string::npos || text.find("disk I/O") != std::string::npos) {
    return unavailable("disk-full", "the disk of the data directory is full")
        .hint("make room there: the controller then goes on by itself");
  }
  return internal_error("store-failed", "the database failed: " + text);
}

std::string database_path(const std::string& data_dir) { return data_dir + "/schedulearn.db"; }

std::string connection_to(const std::string& path) {
  namespace fs = std::filesystem;
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::error_code none;
  const fs::path real = fs::canonical(path, none);  // SQLite's log is beside the file that a link leads to
  const fs::path file = none ? fs::absolute(path) : real;
  std::string uri = "file://";
  for (const char c : file.string()) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = std::isalnum(byte) != 0 || std::strchr("/._-", c) != nullptr;
    uri += is_plain ? std::string(1, c) : std::string{'%', digits[byte >> 4], digits[byte & 15]};
  }
  const auto log_bytes = fs::file_size(file.string() + "-wal", none);
  const bool is_used = (!none && log_bytes > 0) || fs::exists(file.string() + "-shm", none);
  if (::access(file.parent_path().c_str(), W_OK) != 0 && !is_used) uri += "?immutable=1";
  return "db=" + uri + " timeout=10";
}

// ---- statements ----

Write::Write(soci::session& sql, const std::string& query, std::size_t numbers, std::size_t texts)
    : slots_(numbers + texts), numbers_(numbers), statement_(sql) {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (i < numbers) {
      statement_.exchange(soci::use(slots_[i].number, slots_[i].state));
    } else {
      statement_.exchange(soci::use(slots_[i].text));
    }
  }
  statement_.alloc();
  statement_.prepare(query);
  statement_.define_and_bind();
}

void Write::number(std::size_t i, const Number& value) {
  slots_[i].state = value ? soci::i_ok : soci::i_null;
  slots_[i].number = value.value_or(0);
}

std::string insert_query(const std::string& verb, const std::string& table, const std::string& columns,
                         std::size_t count) {
  std::string marks;
  for (std::size_t i = 0; i < count; ++i) marks += (i ? ", :v" : ":v") + std::to_string(i);
  return verb + " INTO " + table + "(" + columns + ") VALUES(" + marks + ")";
}

Select::Select(soci::session& sql, const std::string& query, std::size_t numbers, std::size_t texts)
    : slots_(numbers + texts), numbers_(numbers), statement_(sql) {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (i < numbers) {
      statement_.exchange(soci::into(slots_[i].number, slots_[i].state));
    } else {
      statement_.exchange(soci::into(slots_[i].text, slots_[i].state));
    }
  }
  statement_.alloc();
  statement_.prepare(query);
  statement_.define_and_bind();
  statement_.execute();
}

Number Select::number(std::size_t i) const {
  return slots_[i].state == soci::i_ok ? Number(slots_[i].number) : std::nullopt;
}

std::string Select::text(std::size_t i) const {
  const Slot& slot = slots_[numbers_ + i];
  return slot.state == soci::i_ok ? slot.text : "";
}

std::int64_t select_number(soci::session& sql, const std::string& query, std::int64_t other) {
  Select select(sql, query, 1, 0);
  return select.next() ? select.number(0).value_or(other) : other;
}

std::string sql_literal(std::string_view text) {
  std::string sql = "'";
  for (const char c : text) {
    if (c == '\'') sql += c;
    if (c != '\0') sql += c;  // would end the statement; no name contains one
  }
  return sql + "'";
}

// ---- jobs ----

void fill(Write& write, const JobRow& r) {
  const std::array<Number, job_number_count> numbers = {r.id,
                                                        r.submitted_us,
                                                        r.state_since_us,
                                                        r.first_start_us,
                                                        r.last_start_us,
                                                        r.finished_us,
                                                        r.attempt,
                                                        r.run_us,
                                                        r.attained_gpu_us,
                                                        r.preemptions,
                                                        r.migrations,
                                                        r.resizes,
                                                        r.failures,
                                                        r.priority,
                                                        r.held,
                                                        r.cancel_requested,
                                                        r.exit_code,
                                                        r.signal,
                                                        std::llround(r.annotation * 1e6),
                                                        r.quick_requeues,
                                                        r.group_id,
                                                        r.member_index};
  for (std::size_t i = 0; i < numbers.size(); ++i) write.number(i, numbers[i]);
  const auto texts = texts_of(r);
  for (std::size_t i = 0; i < texts.size(); ++i) write.text(i, *texts[i]);
}

JobRow job_of(const Select& s) {
  const auto whole = [&](std::size_t i) { return static_cast<int>(s.whole(i)); };
  const auto small = [&](std::size_t i) { return s.number(i) ? std::optional(whole(i)) : std::nullopt; };
  JobRow r;
  r.id = s.whole(0), r.submitted_us = s.whole(1), r.state_since_us = s.whole(2);
  r.first_start_us = s.number(3), r.last_start_us = s.number(4), r.finished_us = s.number(5);
  r.attempt = whole(6), r.run_us = s.whole(7), r.attained_gpu_us = s.whole(8);
  r.preemptions = whole(9), r.migrations = whole(10), r.resizes = whole(11), r.failures = whole(12);
  r.priority = whole(13), r.held = whole(14) != 0, r.cancel_requested = whole(15) != 0;
  r.exit_code = small(16), r.signal = small(17);
  r.annotation = static_cast<double>(s.whole(18)) * 1e-6;
  r.quick_requeues = whole(19), r.group_id = s.whole(20), r.member_index = s.whole(21);
  const auto texts = texts_of(r);
  for (std::size_t i = 0; i < texts.size(); ++i) *texts[i] = s.text(i);
  return r;
}

std::vector<JobRow> select_jobs(soci::session& sql, const std::string& rest) {
  Select select(sql, "SELECT " + job_columns + " FROM jobs " + rest, job_number_count, job_text_count);
  std::vector<JobRow> rows;
  while (select.next()) rows.push_back(job_of(select));
  return rows;
}

// ---- placements ----

void fill(Write& write, const PlacementRow& row) {
  const std::array<Number, placement_number_count> numbers = {row.job_id,  row.incarnation, row.rank,
                                                              row.attempt, row.ended_us,    row.has_checkpoint ? 1 : 0};
  const std::array texts = {&row.server, &row.cluster, &row.gpus, &row.gpu_uuids};
  for (std::size_t i = 0; i < numbers.size(); ++i) write.number(i, numbers[i]);
  for (std::size_t i = 0; i < texts.size(); ++i) write.text(i, *texts[i]);
}

std::vector<PlacementRow> select_placements(soci::session& sql, const std::string& rest) {
  Select s(sql, "SELECT " + placement_columns + " FROM placements " + rest, placement_number_count,
           placement_text_count);
  std::vector<PlacementRow> rows;
  while (s.next()) {
    PlacementRow row;
    row.job_id = s.whole(0), row.incarnation = s.whole(1), row.rank = static_cast<int>(s.whole(2));
    row.attempt = static_cast<int>(s.whole(3)), row.ended_us = s.number(4);
    row.has_checkpoint = s.whole(5) != 0;
    row.server = s.text(0), row.cluster = s.text(1), row.gpus = s.text(2), row.gpu_uuids = s.text(3);
    rows.push_back(std::move(row));
  }
  return rows;
}

// ---- events ----

void fill(Write& write, const EventRow& row) {
  write.number(0, row.seq);
  write.number(1, row.at_us);
  write.number(2, row.job_id);
  const auto texts = event_texts_of(row);
  for (std::size_t i = 0; i < texts.size(); ++i) write.text(i, *texts[i]);
}

EventRow event_of(const Select& select) {
  EventRow row;
  row.seq = select.whole(0), row.at_us = select.whole(1), row.job_id = select.number(2);
  const auto texts = event_texts_of(row);
  for (std::size_t i = 0; i < texts.size(); ++i) *texts[i] = select.text(i);
  return row;
}

void fill(Write& write, const EstimateRow& row) {
  std::size_t i = 0;
  for (const Number number :
       std::initializer_list<Number>{row.job_id, row.shown_us, row.p10_us, row.p50_us, row.p90_us, row.raw_p10_us,
                                     row.raw_p50_us, row.raw_p90_us, row.actual_us})
    write.number(i++, number);
  i = 0;
  for (const std::string* text : {&row.target, &row.policy, &row.basis}) write.text(i++, *text);
}

std::vector<EstimateRow> select_estimates(soci::session& sql) {
  Select select(sql, "SELECT " + estimate_columns + " FROM estimates ORDER BY shown_us", 9, 3);
  std::vector<EstimateRow> rows;
  while (select.next()) {
    EstimateRow& row = rows.emplace_back();
    std::size_t i = 0;
    for (std::int64_t* number : {&row.job_id, &row.shown_us, &row.p10_us, &row.p50_us, &row.p90_us, &row.raw_p10_us,
                                 &row.raw_p50_us, &row.raw_p90_us})
      *number = select.whole(i++);
    row.actual_us = select.number(8);
    row.target = select.text(0), row.policy = select.text(1), row.basis = select.text(2);
  }
  return rows;
}

void fill(Write& write, const RegretRow& row) {
  std::size_t i = 0;
  for (const std::int64_t number : {row.at_us, row.since_us, row.jobs, row.draws, row.in_force_us, row.shadow_us,
                                    row.mean_us, row.low_us, row.high_us})
    write.number(i++, number);
  write.text(0, row.in_force), write.text(1, row.shadow);
}

std::vector<RegretRow> select_regrets(soci::session& sql) {
  Select select(sql, "SELECT " + regret_columns + " FROM regrets ORDER BY at_us", 9, 2);
  std::vector<RegretRow> rows;
  while (select.next()) {
    RegretRow& row = rows.emplace_back();
    std::size_t i = 0;
    for (std::int64_t* number : {&row.at_us, &row.since_us, &row.jobs, &row.draws, &row.in_force_us, &row.shadow_us,
                                 &row.mean_us, &row.low_us, &row.high_us})
      *number = select.whole(i++);
    row.in_force = select.text(0), row.shadow = select.text(1);
  }
  return rows;
}

}  // namespace sl::store
