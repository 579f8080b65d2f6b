// The store in one SQLite file through SOCI. Write-ahead log, synchronous = FULL: a commit that returned survives a
// power cut. SOCI's exceptions end here.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>

#include <soci/soci.h>
#include <soci/sqlite3/soci-sqlite3.h>

#include "store/migrations.h"
#include "store/store.h"

namespace sl::store {
namespace {

using Number = std::optional<std::int64_t>;

// The columns of a job row, numbers and texts, each in one order for writing and reading.
constexpr std::array job_numbers = {
    "submitted_us",     "state_since_us", "first_start_us", "last_start_us",   "finished_us", "attempt",  "run_us",
    "attained_gpu_us",  "preemptions",    "migrations",     "resizes",         "failures",    "priority", "held",
    "cancel_requested", "exit_code",      "signal",         "annotation_micro"};
constexpr std::array job_texts = {"user_name", "name",         "spec_json",       "state",         "server",
                                  "gpus",      "failure_kind", "failure_message", "progress_json", "extra_json"};

std::array<Number, job_numbers.size()> numbers_of(const JobRow& r) {
  return {r.submitted_us,     r.state_since_us,
          r.first_start_us,   r.last_start_us,
          r.finished_us,      r.attempt,
          r.run_us,           r.attained_gpu_us,
          r.preemptions,      r.migrations,
          r.resizes,          r.failures,
          r.priority,         r.held,
          r.cancel_requested, r.exit_code,
          r.signal,           std::llround(r.annotation * 1e6)};
}

void set_numbers(JobRow& r, const std::array<Number, job_numbers.size()>& n) {
  const auto whole = [&](std::size_t i) { return static_cast<int>(n[i].value_or(0)); };
  const auto small = [&](std::size_t i) { return n[i] ? std::optional(static_cast<int>(*n[i])) : std::nullopt; };
  r.submitted_us = n[0].value_or(0), r.state_since_us = n[1].value_or(0);
  r.first_start_us = n[2], r.last_start_us = n[3], r.finished_us = n[4];
  r.attempt = whole(5), r.run_us = n[6].value_or(0), r.attained_gpu_us = n[7].value_or(0);
  r.preemptions = whole(8), r.migrations = whole(9), r.resizes = whole(10), r.failures = whole(11),
  r.priority = whole(12);
  r.held = whole(13) != 0, r.cancel_requested = whole(14) != 0;
  r.exit_code = small(15), r.signal = small(16);
  r.annotation = static_cast<double>(n[17].value_or(0)) * 1e-6;
}

template <typename Row>  // JobRow or const JobRow
auto texts_of(Row& r) {
  return std::array{&r.user, &r.name,         &r.spec_json,       &r.state,         &r.server,
                    &r.gpus, &r.failure_kind, &r.failure_message, &r.progress_json, &r.extra_json};
}

std::string join_names(const char* before, bool placeholders) {
  std::string text;
  for (const auto* name : job_numbers) text += std::string(", ") + before + name;
  for (const auto* name : job_texts) text += std::string(", ") + before + name;
  (void)placeholders;
  return text;
}

// Buffers a prepared statement is bound to: fill, then execute.
struct Slot {
  long long number = 0;
  std::string text;
  soci::indicator state = soci::i_ok;
  void set(const Number& n) {
    state = n ? soci::i_ok : soci::i_null;
    number = n.value_or(0);
  }
  Number get() const { return state == soci::i_ok ? Number(number) : std::nullopt; }
};

Error translate(const std::exception& e) {
  const std::string text = e.what();
  if (text.find("full") != std::string::npos || text.find("disk I/O") != std::string::npos) {
    return unavailable("disk-full", "the disk of the data directory is full")
        .hint("make room; submissions are accepted again by themselves");
  }
  return internal_error("store-failed", "the database failed: " + text);
}

// One prepared INSERT with `numbers` number columns and `texts` text columns, in this order.
class Insert {
 public:
  Insert(soci::session& sql, const std::string& query, std::size_t numbers, std::size_t texts)
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
  void number(std::size_t i, const Number& value) { slots_[i].set(value); }
  void text(std::size_t i, const std::string& value) { slots_[numbers_ + i].text = value; }
  void run() { statement_.execute(true); }

 private:
  std::vector<Slot> slots_;
  std::size_t numbers_;
  soci::statement statement_;
};

std::string insert_query(const std::string& verb, const std::string& table, const std::string& columns,
                         std::size_t count) {
  std::string marks;
  for (std::size_t i = 0; i < count; ++i) marks += (i ? ", :v" : ":v") + std::to_string(i);
  return verb + " INTO " + table + "(" + columns + ") VALUES(" + marks + ")";
}

class SqliteStore : public Store {
 public:
  SqliteStore(int lock, const std::string& path) : lock_(lock), sql_(soci::sqlite3, "db=" + path + " timeout=10") {
    sql_ << "PRAGMA journal_mode=WAL";
    sql_ << "PRAGMA synchronous=FULL";
    sql_ << "PRAGMA wal_autocheckpoint=4000";
    sql_ << "PRAGMA cache_size=-1024";
  }
  ~SqliteStore() override { ::close(lock_); }

  Status migrate();
  void prepare();

  Status commit(const Batch& batch) override;
  Result<Loaded> load(std::int64_t now_us, std::size_t finished_max) override;
  Result<std::optional<JobRow>> job(std::int64_t id) override;
  Result<std::vector<EventRow>> events(std::int64_t after_seq, std::size_t limit,
                                       std::optional<std::int64_t> job_id) override;

 private:
  void write(const JobRow& row);
  void write(const EventRow& row);
  std::vector<JobRow> jobs_where(const std::string& where);
  int lock_;
  soci::session sql_;
  std::unique_ptr<Insert> insert_job_, insert_event_, insert_policy_, insert_key_, insert_server_, insert_setting_;
};

Status SqliteStore::migrate() {
  sql_ << "CREATE TABLE IF NOT EXISTS schema_version(version BIGINT NOT NULL)";
  long long version = 0;
  soci::indicator state = soci::i_null;
  sql_ << "SELECT max(version) FROM schema_version", soci::into(version, state);
  if (state != soci::i_ok) version = 0;
  const auto known = static_cast<long long>(migrations().size());
  if (version > known) {
    return conflict("newer-schema", "the data directory was written by a newer version of schedulearn")
        .note("its schema is version " + std::to_string(version) + ", this program knows up to " +
              std::to_string(known))
        .hint("use the newer schedulearn, or another --data directory");
  }
  for (long long next = version; next < known; ++next) {
    soci::transaction transaction(sql_);
    auto* backend = static_cast<soci::sqlite3_session_backend*>(sql_.get_backend());
    char* message = nullptr;
    if (sqlite_api::sqlite3_exec(backend->conn_, migrations()[static_cast<std::size_t>(next)], nullptr, nullptr,
                                 &message) != SQLITE_OK) {
      const std::string why = message ? message : "unknown";
      sqlite_api::sqlite3_free(message);
      return internal_error("store-failed", "migration " + std::to_string(next + 1) + " failed: " + why);
    }
    sql_ << "INSERT INTO schema_version(version) VALUES(:v)", soci::use(next + 1);
    transaction.commit();
  }
  return {};
}

void SqliteStore::prepare() {
  const std::size_t job_columns = 1 + job_numbers.size() + job_texts.size();
  insert_job_ =
      std::make_unique<Insert>(sql_, insert_query("REPLACE", "jobs", "id" + join_names("", false), job_columns),
                               1 + job_numbers.size(), job_texts.size());
  insert_event_ = std::make_unique<Insert>(
      sql_,
      insert_query("INSERT", "events",
                   "seq, at_us, job_id, kind, server, actor_type, actor_name, from_state, to_state, text, data_json",
                   11),
      3, 8);
  insert_policy_ = std::make_unique<Insert>(
      sql_, insert_query("INSERT", "policies", "since_us, name, parameters_json, by_whom, source", 5), 1, 4);
  insert_key_ = std::make_unique<Insert>(
      sql_, insert_query("REPLACE", "idempotency_keys", "job_id, at_us, key, body_hash", 4), 2, 2);
  insert_server_ =
      std::make_unique<Insert>(sql_,
                               "INSERT INTO servers(last_contact_us, name, agent_id, description_json) VALUES(:a, :b, "
                               ":c, :d) ON CONFLICT(name) DO UPDATE SET last_contact_us=excluded.last_contact_us, "
                               "agent_id=excluded.agent_id, description_json=excluded.description_json",
                               1, 3);
  insert_setting_ = std::make_unique<Insert>(sql_, insert_query("REPLACE", "settings", "key, value", 2), 0, 2);
}

void SqliteStore::write(const JobRow& row) {
  insert_job_->number(0, row.id);
  const auto numbers = numbers_of(row);
  for (std::size_t i = 0; i < numbers.size(); ++i) insert_job_->number(1 + i, numbers[i]);
  const auto texts = texts_of(row);
  for (std::size_t i = 0; i < texts.size(); ++i) insert_job_->text(i, *texts[i]);
  insert_job_->run();
}

void SqliteStore::write(const EventRow& row) {
  insert_event_->number(0, row.seq);
  insert_event_->number(1, row.at_us);
  insert_event_->number(2, row.job_id);
  const std::array texts = {&row.kind, &row.server, &row.actor_type, &row.actor_name,
                            &row.from, &row.to,     &row.text,       &row.data_json};
  for (std::size_t i = 0; i < texts.size(); ++i) insert_event_->text(i, *texts[i]);
  insert_event_->run();
}

Status SqliteStore::commit(const Batch& batch) {
  try {
    soci::transaction transaction(sql_);
    for (const JobRow& row : batch.jobs) write(row);
    for (const EventRow& row : batch.events) write(row);
    for (const PolicyRow& row : batch.policies) {
      insert_policy_->number(0, row.since_us);
      insert_policy_->text(0, row.name), insert_policy_->text(1, row.parameters_json), insert_policy_->text(2, row.by);
      insert_policy_->text(3, row.source);
      insert_policy_->run();
    }
    for (const IdempotencyRow& row : batch.keys) {
      insert_key_->number(0, row.job_id), insert_key_->number(1, row.at_us);
      insert_key_->text(0, row.key), insert_key_->text(1, row.body_hash);
      insert_key_->run();
    }
    for (const ServerRow& row : batch.servers) {
      insert_server_->number(0, row.last_contact_us);
      insert_server_->text(0, row.name), insert_server_->text(1, row.agent_id),
          insert_server_->text(2, row.description_json);
      insert_server_->run();
    }
    for (const SettingRow& row : batch.settings) {
      insert_setting_->text(0, row.key), insert_setting_->text(1, row.value);
      insert_setting_->run();
    }
    transaction.commit();
    return {};
  } catch (const std::exception& e) {
    return translate(e);
  }
}

std::vector<JobRow> SqliteStore::jobs_where(const std::string& where) {
  Slot id;
  std::array<Slot, job_numbers.size()> numbers;
  JobRow row;
  soci::statement statement(sql_);
  statement.exchange(soci::into(id.number));
  for (Slot& slot : numbers) statement.exchange(soci::into(slot.number, slot.state));
  for (std::string* text : texts_of(row)) statement.exchange(soci::into(*text));
  statement.alloc();
  statement.prepare("SELECT id" + join_names("", false) + " FROM jobs " + where);
  statement.define_and_bind();
  statement.execute();
  std::vector<JobRow> rows;
  while (statement.fetch()) {
    std::array<Number, job_numbers.size()> values;
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = numbers[i].get();
    set_numbers(row, values);
    row.id = id.number;
    rows.push_back(row);
  }
  return rows;
}

Result<Loaded> SqliteStore::load(std::int64_t now_us, std::size_t finished_max) {
  try {
    Loaded loaded;
    loaded.unfinished_jobs = jobs_where("WHERE finished_us IS NULL ORDER BY id");
    loaded.finished_jobs =
        jobs_where("WHERE finished_us IS NOT NULL ORDER BY finished_us DESC LIMIT " + std::to_string(finished_max));
    std::reverse(loaded.finished_jobs.begin(), loaded.finished_jobs.end());
    long long number = 0;
    std::string a, b, c, d;
    {
      soci::statement s =
          (sql_.prepare << "SELECT last_contact_us, name, agent_id, description_json FROM servers ORDER BY rowid",
           soci::into(number), soci::into(a), soci::into(b), soci::into(c));
      for (s.execute(); s.fetch();) loaded.servers.push_back({a, b, c, number});
    }
    {
      soci::statement s =
          (sql_.prepare
               << "SELECT since_us, name, parameters_json, by_whom, source FROM policies ORDER BY rowid DESC LIMIT 100",
           soci::into(number), soci::into(a), soci::into(b), soci::into(c), soci::into(d));
      for (s.execute(); s.fetch();) loaded.policies.insert(loaded.policies.begin(), {number, a, b, c, d});
    }
    {
      soci::statement s = (sql_.prepare << "SELECT key, value FROM settings", soci::into(a), soci::into(b));
      for (s.execute(); s.fetch();) loaded.settings.push_back({a, b});
    }
    {
      const long long oldest = now_us - 24LL * 3600 * 1'000'000;
      sql_ << "DELETE FROM idempotency_keys WHERE at_us < :t", soci::use(oldest);
      long long at = 0;
      soci::statement s = (sql_.prepare << "SELECT key, body_hash, job_id, at_us FROM idempotency_keys", soci::into(a),
                           soci::into(b), soci::into(number), soci::into(at));
      for (s.execute(); s.fetch();) loaded.keys.push_back({a, b, number, at});
    }
    soci::indicator state = soci::i_null;
    sql_ << "SELECT max(seq) FROM events", soci::into(number, state);
    loaded.next_event_seq = state == soci::i_ok ? number + 1 : 1;
    sql_ << "SELECT max(at_us) FROM events WHERE seq = (SELECT max(seq) FROM events)", soci::into(number, state);
    loaded.last_event_us = state == soci::i_ok ? number : 0;
    sql_ << "SELECT max(id) FROM jobs", soci::into(number, state);
    loaded.next_job_id = state == soci::i_ok ? number + 1 : 1;
    return loaded;
  } catch (const std::exception& e) {
    return translate(e);
  }
}

Result<std::optional<JobRow>> SqliteStore::job(std::int64_t id) {
  try {
    auto rows = jobs_where("WHERE id = " + std::to_string(id));
    return rows.empty() ? std::optional<JobRow>() : std::optional<JobRow>(std::move(rows.front()));
  } catch (const std::exception& e) {
    return translate(e);
  }
}

Result<std::vector<EventRow>> SqliteStore::events(std::int64_t after_seq, std::size_t limit,
                                                  std::optional<std::int64_t> job_id) {
  try {
    std::vector<EventRow> rows;
    long long seq = 0, at = 0;
    Slot job;
    EventRow row;
    const std::string of_job = job_id ? " AND job_id = " + std::to_string(*job_id) : "";
    soci::statement s = (sql_.prepare << "SELECT seq, at_us, job_id, kind, server, actor_type, actor_name, from_state, "
                                         "to_state, text, data_json FROM events WHERE seq > "
                                      << after_seq << of_job << " ORDER BY seq LIMIT " << limit,
                         soci::into(seq), soci::into(at), soci::into(job.number, job.state), soci::into(row.kind),
                         soci::into(row.server), soci::into(row.actor_type), soci::into(row.actor_name),
                         soci::into(row.from), soci::into(row.to), soci::into(row.text), soci::into(row.data_json));
    for (s.execute(); s.fetch();) {
      row.seq = seq, row.at_us = at, row.job_id = job.get();
      rows.push_back(row);
    }
    return rows;
  } catch (const std::exception& e) {
    return translate(e);
  }
}

Error not_writable(const std::string& dir, int error) {
  return denied("data-directory-not-writable",
                "cannot write to the data directory " + dir + ": " + std::strerror(error))
      .hint("choose another: --data DIR");
}

}  // namespace

Result<std::unique_ptr<Store>> open_sqlite(const std::string& data_dir) {
  std::error_code failed;
  std::filesystem::create_directories(data_dir, failed);
  if (failed) return not_writable(data_dir, failed.value());
  ::chmod(data_dir.c_str(), 0700);
  const int lock = ::open((data_dir + "/controller.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock < 0) return not_writable(data_dir, errno);
  if (::flock(lock, LOCK_EX | LOCK_NB) != 0) {
    ::close(lock);
    return conflict("data-directory-in-use", "another controller uses the data directory " + data_dir)
        .hint("stop it, or choose another: --data DIR");
  }
  try {
    const std::string path = data_dir + "/schedulearn.db";
    ::close(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    auto store = std::make_unique<SqliteStore>(lock, path);
    if (Status migrated = store->migrate(); !migrated.ok()) return migrated.error();
    store->prepare();
    return std::unique_ptr<Store>(std::move(store));
  } catch (const std::exception& e) {
    return translate(e);
  }
}

}  // namespace sl::store
