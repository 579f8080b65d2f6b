#include "store/backup.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "store/migrations.h"
#include "store/sqlite.h"

namespace sl::store {
namespace {

namespace fs = std::filesystem;

Error cannot_write(const std::string& file, const std::string& why) {
  return unavailable("cannot-write", "cannot write " + file + ": " + why);
}

// What SQLite finds wrong; empty: nothing.
std::string faults_of(soci::session& sql) {
  Select rows(sql, "SELECT integrity_check FROM pragma_integrity_check(3)", 0, 1);
  std::string faults;
  while (rows.next()) faults += (faults.empty() ? "" : "; ") + rows.text(0);
  return faults == "ok" ? "" : faults;
}

Status sync(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool is_synced = file >= 0 && ::fsync(file) == 0;
  const Status status = is_synced ? Status() : Status(cannot_write(path, std::strerror(errno)));
  if (file >= 0) ::close(file);
  return status;
}

// What root makes in the folder of another user is that user's, whose controller reads it. An open file, since there the
// user may have put a link in its place.
void give_to_owner_of(const std::string& folder, int file) {
  struct stat owner {
  }, made{};
  if (::geteuid() != 0 || ::stat(folder.c_str(), &owner) != 0) return;
  if (::fstat(file, &made) != 0 || !S_ISREG(made.st_mode) || made.st_nlink != 1) return;
  if (::fchown(file, owner.st_uid, owner.st_gid) != 0) return;  // on some network folders nobody may
}

// The database as it is at one moment, whoever uses it meanwhile, in a new file; what was there is gone. No file is left if
// that fails.
Result<DatabaseReport> copy(const std::string& database, const std::string& part) {
  std::error_code ignored;
  fs::remove(part, ignored);
  const int made = ::open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (made < 0) return cannot_write(part, std::strerror(errno));
  give_to_owner_of(fs::absolute(part).parent_path().string(), made);
  ::close(made);
  Result<DatabaseReport> report = DatabaseReport{};
  try {
    soci::session sql(soci::sqlite3, connection_to(database));
    sql << "VACUUM INTO " + sql_literal(fs::absolute(part).string());
    report = check_database(part);
  } catch (const std::exception& e) {
    const Error failed = translate(e);
    report = failed.code == "disk-full" ? cannot_write(part, "there is no room") : failed;
  }
  if (report.ok()) {
    if (const Status written = sync(part); !written.ok()) report = written.error();
  }
  if (!report.ok()) fs::remove(part, ignored);
  return report;
}

// As long as it lives, no controller runs on the folder.
class FolderLock {
 public:
  explicit FolderLock(const std::string& data_dir)
      : file_(::open((data_dir + "/controller.lock").c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600)) {
    if (file_ >= 0) give_to_owner_of(data_dir, file_);
  }
  ~FolderLock() {
    if (file_ >= 0) ::close(file_);
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  Status take(const std::string& data_dir) const {
    if (file_ < 0)
      return denied("data-directory-not-writable",
                    "cannot write to the data directory " + data_dir + ": " + std::strerror(errno));
    if (::flock(file_, LOCK_EX | LOCK_NB) == 0) return {};
    return conflict("data-directory-in-use", "a controller uses the data directory " + data_dir)
        .hint("stop it first: its database can only be replaced while it does not run");
  }

 private:
  int file_;
};

// All of it in one file, without those that SQLite keeps beside it.
Status set_aside(const std::string& database, const std::string& kept) {
  try {
    soci::session(soci::sqlite3, connection_to(database)) << "PRAGMA wal_checkpoint(TRUNCATE)";
  } catch (const std::exception&) {
    // damaged, which may be why it is replaced: its files are kept as they are
  }
  std::error_code failed;
  for (const char* part : {"", "-wal", "-shm"}) {
    if (!fs::exists(database + part, failed)) continue;
    fs::rename(database + part, kept + part, failed);
    if (failed) return cannot_write(kept + part, failed.message());
  }
  return {};
}

}  // namespace

std::string database_of(const std::string& data_dir) { return database_path(data_dir); }

Result<DatabaseReport> check_database(const std::string& file) {
  if (::access(file.c_str(), R_OK) != 0)
    return not_found("no-database", "there is no database " + file + ": " + std::strerror(errno));
  const auto damaged = [&](const std::string& why) {
    return invalid("database-damaged", file + " is no whole database of schedulearn: " + why);
  };
  if (std::error_code ignored; fs::is_directory(file, ignored))
    return invalid("no-database", file + " is a folder").hint("schedulearn db check --data " + file);
  try {
    soci::session sql(soci::sqlite3, connection_to(file));
    sql << "PRAGMA query_only=1";
    if (const std::string faults = faults_of(sql); !faults.empty()) return damaged(faults);
    DatabaseReport report{.file = file};
    report.schema = select_number(sql, "SELECT MAX(version) FROM schema_version", 0);
    const auto known = static_cast<std::int64_t>(migrations().size());
    if (report.schema > known)
      return conflict("newer-schema", file + " was written by a newer version of schedulearn")
          .note("its schema is version " + std::to_string(report.schema) + ", this program knows " +
                std::to_string(known));
    report.jobs = select_number(sql, "SELECT COUNT(*) FROM jobs");
    report.events = select_number(sql, "SELECT COUNT(*) FROM events");
    std::error_code unknown;
    report.bytes = static_cast<std::int64_t>(fs::file_size(file, unknown));
    return report;
  } catch (const std::exception& e) {
    const std::string why = e.what();  // the library's: it adds the statement
    if (why.find("unable to open") != std::string::npos)
      return denied("database-unreadable", "cannot open the database " + file)
          .hint("its folder must be writable while a log lies beside it (" + file +
                "-wal): copy both to another folder");
    return damaged(why.find("file is not a database") == std::string::npos ? why : "SQLite has not written it");
  }
}

Result<DatabaseReport> back_up(const std::string& data_dir, const std::string& file) {
  const std::string database = database_of(data_dir);
  if (::access(database.c_str(), R_OK) != 0)
    return not_found("no-database", "there is no database " + database + ": " + std::strerror(errno));
  if (std::error_code ignored; fs::exists(file, ignored)) return conflict("file-exists", file + " exists already");
  const std::string part = file + ".part";
  auto report = copy(database, part);
  if (!report.ok()) return report;
  report->file = file;
  if (::rename(part.c_str(), file.c_str()) == 0) return report;
  const Error failed = cannot_write(file, std::strerror(errno));
  std::error_code ignored;
  fs::remove(part, ignored);
  return failed;
}

Result<DatabaseReport> restore(const std::string& data_dir, const std::string& file, std::int64_t now_us) {
  if (const auto whole = check_database(file); !whole.ok()) return whole;
  ::mkdir(data_dir.c_str(), 0700);  // a machine that takes over has none; what else fails, the lock says
  const FolderLock lock(data_dir);
  if (const Status taken = lock.take(data_dir); !taken.ok()) return taken.error();
  const std::string database = database_of(data_dir), part = database + ".part";
  auto report = copy(file, part);
  if (!report.ok()) return report;
  std::error_code ignored;
  if (fs::exists(database, ignored)) {
    report->kept = database + ".before-" + std::to_string(now_us / 1'000'000);
    for (int n = 2; fs::exists(report->kept, ignored); ++n)
      report->kept = database + ".before-" + std::to_string(now_us / 1'000'000) + "-" + std::to_string(n);
    if (const Status kept = set_aside(database, report->kept); !kept.ok()) return kept.error();
  }
  if (::rename(part.c_str(), database.c_str()) != 0) return cannot_write(database, std::strerror(errno));
  if (const Status synced = sync(data_dir); !synced.ok()) return synced.error();
  report->file = database;
  return report;
}

}  // namespace sl::store
