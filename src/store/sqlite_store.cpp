// The store in one SQLite file through SOCI. Write-ahead log, synchronous = FULL: a commit that has returned survives a
// power cut. SOCI's exceptions end here.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <initializer_list>
#include <sstream>
#include <utility>

#include "store/migrations.h"
#include "store/sqlite.h"
#include "store/sqlite_notifications.h"
#include "store/sqlite_people.h"

namespace sl::store {
namespace {

class SqliteStore : public Store {
 public:
  SqliteStore(int lock, const std::string& path) : lock_(lock), sql_(soci::sqlite3, connection_to(path)) {
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

 private:
  void write(const Batch& batch);
  void remove(const Removal& removal);
  int lock_;
  soci::session sql_;
  std::unique_ptr<Write> write_job_, write_placement_, write_event_, write_policy_, write_key_, write_server_,
      write_setting_, write_profile_, write_removed_, write_estimate_, write_regret_, remove_job_, remove_placements_,
      remove_events_;
  std::unique_ptr<WriteNotifications> write_notifications_;
  std::unique_ptr<WritePeople> write_people_;
};

// The version of the schema, which this program must know.
Result<std::int64_t> schema_version(soci::session& sql) {
  const std::int64_t version = select_number(sql, "SELECT max(version) FROM schema_version");
  const auto known = static_cast<std::int64_t>(migrations().size());
  if (version <= known) return version;
  return conflict("newer-schema", "the data directory was written by a newer version of schedulearn")
      .note("its schema is version " + std::to_string(version) + ", this program knows up to " + std::to_string(known))
      .hint("use the newer schedulearn, or another --data directory");
}

Status SqliteStore::migrate() {
  sql_ << "CREATE TABLE IF NOT EXISTS schema_version(version BIGINT NOT NULL)";
  const auto version = schema_version(sql_);
  if (!version.ok()) return version.error();
  const auto known = static_cast<std::int64_t>(migrations().size());
  for (std::int64_t next = *version; next < known; ++next) {
    soci::transaction transaction(sql_);
    auto* backend = static_cast<soci::sqlite3_session_backend*>(sql_.get_backend());
    char* message = nullptr;
    if (sqlite_api::sqlite3_exec(backend->conn_, migrations()[static_cast<std::size_t>(next)], nullptr, nullptr,
                                 &message) != SQLITE_OK) {
      const std::string why = message ? message : "unknown";
      sqlite_api::sqlite3_free(message);
      return internal_error("store-failed", "migration " + std::to_string(next + 1) + " failed: " + why);
    }
    sql_ << "INSERT INTO schema_version(version) VALUES(:v)", soci::use(static_cast<long long>(next + 1));
    transaction.commit();
  }
  return {};
}

// A job's row is replaced in place: the schema counts finished jobs when a row is updated.
std::string job_query() {
  std::string query = insert_query("INSERT", "jobs", job_columns, job_number_count + job_text_count) +
                      " ON CONFLICT(id) DO UPDATE SET ";
  std::istringstream names(job_columns);
  bool is_first = true;
  for (std::string name; std::getline(names >> std::ws, name, ',');) {
    if (name != "id") query += (std::exchange(is_first, false) ? "" : ", ") + name + "=excluded." + name;
  }
  return query;
}

void SqliteStore::prepare() {
  const auto prepared = [this](const std::string& query, std::size_t numbers, std::size_t texts) {
    return std::make_unique<Write>(sql_, query, numbers, texts);
  };
  write_job_ = prepared(job_query(), job_number_count, job_text_count);
  write_placement_ =
      prepared(insert_query("REPLACE", "placements", placement_columns, placement_number_count + placement_text_count),
               placement_number_count, placement_text_count);
  write_event_ = prepared(insert_query("INSERT", "events", event_columns, event_number_count + event_text_count),
                          event_number_count, event_text_count);
  write_policy_ =
      prepared(insert_query("INSERT", "policies", "since_us, name, parameters_json, by_whom, source, reason", 6), 1, 5);
  write_key_ = prepared(insert_query("REPLACE", "keys_of_jobs", "job_id, at_us, key, body_hash", 4), 2, 2);
  write_server_ = prepared(
      "INSERT INTO servers(last_contact_us, name, agent_id, description_json) VALUES(:a, :b, :c, :d) ON CONFLICT(name) "
      "DO UPDATE SET last_contact_us=excluded.last_contact_us, agent_id=excluded.agent_id, "
      "description_json=excluded.description_json",
      1, 3);
  write_setting_ = prepared(insert_query("REPLACE", "settings", "key, value", 2), 0, 2);
  write_profile_ = prepared(insert_query("REPLACE", "profiles", "at_us, family, profile_json, user", 4), 1, 3);
  write_removed_ = prepared(insert_query("REPLACE", "removed_jobs", "first_id, last_id, at_us, rule", 4), 3, 1);
  write_regret_ = prepared(insert_query("REPLACE", "regrets", regret_columns, 11), 9, 2);
  write_estimate_ = prepared(insert_query("REPLACE", "estimates", estimate_columns, 12), 9, 3);
  write_notifications_ = std::make_unique<WriteNotifications>(sql_);
  write_people_ = std::make_unique<WritePeople>(sql_);
  remove_job_ = prepared("DELETE FROM jobs WHERE id = :v0 AND finished_us IS NOT NULL", 1, 0);
  remove_placements_ = prepared("DELETE FROM placements WHERE job_id = :v0", 1, 0);
  remove_events_ = prepared("DELETE FROM events WHERE job_id = :v0", 1, 0);
}

Status SqliteStore::commit(const Batch& batch) {
  try {
    soci::transaction transaction(sql_);
    write(batch);
    transaction.commit();
    return {};
  } catch (const std::exception& e) {
    return translate(e);
  }
}

void SqliteStore::write(const Batch& batch) {
  const auto texts = [](Write& write, std::initializer_list<const std::string*> all) {
    std::size_t i = 0;
    for (const std::string* text : all) write.text(i++, *text);
    write.run();
  };
  for (const JobRow& row : batch.jobs) fill(*write_job_, row), write_job_->run();
  for (const PlacementRow& row : batch.placements) fill(*write_placement_, row), write_placement_->run();
  for (const EventRow& row : batch.events) fill(*write_event_, row), write_event_->run();
  for (const PolicyRow& row : batch.policies) {
    write_policy_->number(0, row.since_us);
    texts(*write_policy_, {&row.name, &row.parameters_json, &row.by, &row.source, &row.reason});
  }
  for (const IdempotencyRow& row : batch.keys) {
    write_key_->number(0, row.job_id), write_key_->number(1, row.at_us);
    texts(*write_key_, {&row.key, &row.body_hash});
  }
  for (const ServerRow& row : batch.servers) {
    write_server_->number(0, row.last_contact_us);
    texts(*write_server_, {&row.name, &row.agent_id, &row.description_json});
  }
  for (const SettingRow& row : batch.settings) texts(*write_setting_, {&row.key, &row.value});
  if (const long long last = batch.forget_keys_to; last > 0)
    sql_ << "DELETE FROM keys_of_jobs WHERE job_id <= :last", soci::use(last);
  for (const ProfileRow& row : batch.profiles) {
    write_profile_->number(0, row.at_us);
    texts(*write_profile_, {&row.family, &row.profile_json, &row.user});
  }
  for (const Removal& removal : batch.removals) remove(removal);
  write_notifications_->run(batch);
  write_people_->run(batch.people);
  for (const EstimateRow& row : batch.estimates) fill(*write_estimate_, row), write_estimate_->run();
  if (!batch.estimates.empty())
    sql_ << "DELETE FROM estimates WHERE shown_us < (SELECT shown_us FROM estimates ORDER BY shown_us DESC LIMIT 1 "
            "OFFSET " +
                std::to_string(estimates_max - 1) + ")";
  for (const RegretRow& row : batch.regrets) fill(*write_regret_, row), write_regret_->run();
  if (!batch.regrets.empty())
    sql_ << "DELETE FROM regrets WHERE at_us < (SELECT at_us FROM regrets ORDER BY at_us DESC LIMIT 1 OFFSET " +
                std::to_string(regrets_max - 1) + ")";
}

void SqliteStore::remove(const Removal& removal) {
  std::vector<std::int64_t> jobs;
  for (const FinishedJob& job : removal.jobs) jobs.push_back(job.id);
  std::sort(jobs.begin(), jobs.end());
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    for (Write* remove : {remove_events_.get(), remove_placements_.get(), remove_job_.get()})
      remove->number(0, jobs[i]), remove->run();
    if (i + 1 < jobs.size() && jobs[i + 1] == jobs[i] + 1) continue;
    std::size_t first = i;  // of the ids without a gap that end here
    while (first > 0 && jobs[first - 1] == jobs[first] - 1) --first;
    write_removed_->number(0, jobs[first]), write_removed_->number(1, jobs[i]);
    write_removed_->number(2, removal.at_us), write_removed_->text(0, removal.rule);
    write_removed_->run();
  }
  if (const long long until = removal.events_until_us; until > 0)
    sql_ << "DELETE FROM events WHERE seq IN (SELECT seq FROM events WHERE job_id IS NULL AND at_us < :t "
            "ORDER BY at_us LIMIT 1000)",
        soci::use(until);
}

// ---- what a controller starts with ----

std::vector<ServerRow> servers(soci::session& sql) {
  std::vector<ServerRow> rows;
  Select s(sql,
           "SELECT last_contact_us, name, agent_id, description_json FROM servers WHERE description_json <> '' ORDER "
           "BY rowid",
           1, 3);
  while (s.next()) rows.push_back({s.text(0), s.text(1), s.text(2), s.whole(0)});
  return rows;
}

std::vector<PolicyRow> policies(soci::session& sql) {
  std::vector<PolicyRow> rows;
  Select s(sql,
           "SELECT since_us, name, parameters_json, by_whom, source, reason FROM policies ORDER BY rowid DESC "
           "LIMIT 100",
           1, 5);
  while (s.next()) rows.push_back({s.whole(0), s.text(0), s.text(1), s.text(2), s.text(3), s.text(4)});
  std::reverse(rows.begin(), rows.end());
  return rows;
}

std::vector<SettingRow> settings(soci::session& sql) {
  std::vector<SettingRow> rows;
  Select s(sql, "SELECT key, value FROM settings WHERE value <> ''", 0, 2);
  while (s.next()) rows.push_back({s.text(0), s.text(1)});
  return rows;
}

std::vector<ProfileRow> profiles(soci::session& sql) {
  std::vector<ProfileRow> rows;
  Select s(sql, "SELECT at_us, family, profile_json, user FROM profiles WHERE profile_json <> '' ORDER BY family", 1,
           3);
  while (s.next()) rows.push_back({s.text(0), s.text(1), s.whole(0), s.text(2)});
  return rows;
}

std::vector<IdempotencyRow> young_keys(soci::session& sql, std::int64_t now_us) {
  const long long oldest = now_us - 24LL * 3600 * 1'000'000;
  sql << "DELETE FROM keys_of_jobs WHERE at_us < :t", soci::use(oldest);
  std::vector<IdempotencyRow> rows;
  Select s(sql, "SELECT job_id, at_us, key, body_hash FROM keys_of_jobs ORDER BY job_id", 2, 2);
  while (s.next()) rows.push_back({s.text(0), s.text(1), s.whole(0), s.whole(1)});
  return rows;
}

std::vector<TotalRow> totals(soci::session& sql) {
  std::vector<TotalRow> rows;
  Select s(sql,
           "SELECT jobs, (SELECT count(*) FROM jobs WHERE finished_us IS NOT NULL AND substr(extra_json, 1, 1) = '{' "
           "AND jobs.state = finished_totals.state), state FROM finished_totals ORDER BY state",
           2, 1);
  while (s.next()) rows.push_back({s.text(0), s.whole(0), s.whole(1)});
  return rows;
}

// Everything but the keys.
Loaded load(soci::session& sql, std::size_t finished_max) {
  Loaded loaded;
  loaded.unfinished_jobs = select_jobs(sql, "WHERE finished_us IS NULL ORDER BY id");
  const std::string latest =
      "WHERE finished_us IS NOT NULL ORDER BY finished_us DESC LIMIT " + std::to_string(finished_max);
  loaded.finished_jobs = select_jobs(sql, latest);
  std::reverse(loaded.finished_jobs.begin(), loaded.finished_jobs.end());
  loaded.finished_totals = totals(sql);
  loaded.placements = select_placements(
      sql, "WHERE job_id IN (SELECT id FROM jobs WHERE finished_us IS NULL) OR job_id IN (SELECT id FROM jobs " +
               latest + ") ORDER BY job_id, incarnation, rank");
  loaded.servers = servers(sql);
  loaded.policies = policies(sql);
  loaded.settings = settings(sql);
  loaded.profiles = profiles(sql);
  loaded.next_event_seq = select_number(sql, "SELECT max(seq) FROM events") + 1;
  loaded.last_event_us = select_number(sql, "SELECT at_us FROM events ORDER BY seq DESC LIMIT 1");
  // Ids are never used again, not even those of jobs that have been removed.
  loaded.next_job_id = std::max(select_number(sql, "SELECT max(id) FROM jobs"),
                                select_number(sql, "SELECT last_id FROM removed_jobs ORDER BY first_id DESC LIMIT 1")) +
                       1;
  return loaded;
}

Result<Loaded> SqliteStore::load(std::int64_t now_us, std::size_t finished_max) {
  try {
    sql_ << "DELETE FROM servers WHERE description_json = ''";
    sql_ << "DELETE FROM settings WHERE value = ''";
    sql_ << "DELETE FROM profiles WHERE profile_json = ''";
    forget_removed_people(sql_);
    Loaded loaded = store::load(sql_, finished_max);
    loaded.keys = young_keys(sql_, now_us);
    return loaded;
  } catch (const std::exception& e) {
    return translate(e);
  }
}

Error not_writable(const std::string& dir, int error) {
  return denied("data-directory-not-writable",
                "cannot write to the data directory " + dir + ": " + std::strerror(error))
      .hint("choose another: --data DIR");
}

Error in_use(const std::string& dir) {
  return conflict("data-directory-in-use", "another controller uses the data directory " + dir)
      .hint("stop it, or choose another: --data DIR");
}

}  // namespace

Status check_not_in_use(const std::string& data_dir) {
  const int lock = ::open((data_dir + "/controller.lock").c_str(), O_RDWR | O_CLOEXEC);
  if (lock < 0) return {};  // there has been none
  const bool is_free = ::flock(lock, LOCK_EX | LOCK_NB) == 0;
  ::close(lock);
  return is_free ? Status() : in_use(data_dir);
}

Result<std::unique_ptr<Store>> open_sqlite(const std::string& data_dir) {
  std::error_code failed;
  std::filesystem::create_directories(data_dir, failed);
  if (failed) return not_writable(data_dir, failed.value());
  const int lock = ::open((data_dir + "/controller.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock < 0) return not_writable(data_dir, errno);
  if (::flock(lock, LOCK_EX | LOCK_NB) != 0) return ::close(lock), in_use(data_dir);
  try {
    const std::string path = database_path(data_dir);
    ::close(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    auto store = std::make_unique<SqliteStore>(lock, path);
    if (Status migrated = store->migrate(); !migrated.ok()) return migrated.error();
    store->prepare();
    return std::unique_ptr<Store>(std::move(store));
  } catch (const std::exception& e) {
    Error failed = translate(e);
    if (failed.code == "disk-full") failed.hints = {"make room there, and start it again"};
    return failed;
  }
}

Result<Loaded> load_past(const std::string& data_dir, std::size_t finished_max) {
  const std::string path = database_path(data_dir);
  if (::access(path.c_str(), R_OK) != 0)
    return not_found("no-database",
                     "there is no data of a controller in " + data_dir + ": " + path + ": " + std::strerror(errno));
  try {
    soci::session sql(soci::sqlite3, connection_to(path));
    sql << "PRAGMA query_only=1";
    const auto version = schema_version(sql);
    if (!version.ok()) return version.error();
    if (*version < static_cast<std::int64_t>(migrations().size()))
      return conflict("older-schema", data_dir + " was written by an older version of schedulearn")
          .hint("schedulearn controller run --data " + data_dir +
                "   brings it up to date; if it is to stay as it is, do so with a copy of the folder");
    return load(sql, finished_max);
  } catch (const std::exception& e) {
    return translate(e);
  }
}

}  // namespace sl::store
