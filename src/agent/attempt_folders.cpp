#include "agent/attempt_folders.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "agent/files.h"

namespace sl::agent {
namespace {

constexpr mode_t mode = 0700;

constexpr std::uint64_t room_min = 16 << 20;

Error failed(const std::string& what, int error) {
  return unavailable("server_setup", what + ": " + std::strerror(error));
}

std::vector<std::string> names_in(DIR& folder) {
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(&folder)) {
    if (entry->d_name != std::string_view(".") && entry->d_name != std::string_view(".."))
      names.push_back(entry->d_name);
  }
  return names;
}

// A folder, not a link to one, with exactly this many entries, that only we may access.
bool is_as_made(const std::string& path, std::size_t entries) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return false;
  struct stat info {};
  const bool ours = ::fstat(fd, &info) == 0 && info.st_uid == ::geteuid() && (info.st_mode & 07777) == mode;
  DIR* folder = ours ? ::fdopendir(fd) : nullptr;
  if (!folder) return ::close(fd), false;
  const bool same = names_in(*folder).size() == entries;
  ::closedir(folder);
  return same;
}

}  // namespace

AttemptFolders::AttemptFolders(std::string data_dir) : dir_(std::move(data_dir)) {
  for (const char* name : {"/attempts", "/jobs", "/spare"}) ::mkdir((dir_ + name).c_str(), mode);
  DIR* folder = ::opendir((dir_ + "/spare").c_str());
  if (!folder) return;
  for (const std::string& name : names_in(*folder)) spare_.push_back(dir_ + "/spare/" + name);
  ::closedir(folder);
}

std::string AttemptFolders::of_job(const std::string& key) const {
  Incarnation first = parse_key(key).value_or(Incarnation{});
  if (const std::string number = read_text(of_attempt(key) + "/first"); !number.empty())
    first.number = std::atoll(number.c_str());
  return of_job(first);
}

std::string AttemptFolders::of_job(const Incarnation& first) const {
  const std::string job = dir_ + "/jobs/" + std::to_string(first.job);
  return first.number == 0 ? job : job + "." + std::to_string(first.number) + "." + first.cluster;
}

Result<std::string> AttemptFolders::make(const std::string& key, std::int64_t first) {
  if (Status room = check_room(); !room.ok()) return room.error();
  const std::string attempt = of_attempt(key);
  if (::mkdir(attempt.c_str(), mode) != 0 && errno != EEXIST) return failed("cannot make " + attempt, errno);
  Incarnation incarnation = parse_key(key).value_or(Incarnation{});
  if (std::exchange(incarnation.number, first) != first) write_text(attempt + "/first", std::to_string(first));
  std::string job = of_job(incarnation);
  if (make_from_spare(attempt, job)) return job;
  for (const std::string& path : {attempt + "/tmp", job, job + "/checkpoints", job + "/output"}) {
    if (::mkdir(path.c_str(), mode) != 0 && errno != EEXIST) return failed("cannot make " + path, errno);
  }
  return job;
}

// A full disk often still has room for a folder, or a line, and none for a job's output.
Status AttemptFolders::check_room() const {
  struct statvfs disk {};
  if (::statvfs(dir_.c_str(), &disk) != 0) return failed("cannot look at " + dir_, errno);
  if (disk.f_bavail * disk.f_frsize >= room_min) return {};
  return failed("less than 16 MiB are free in " + dir_, ENOSPC);
}

// If it fails (the job has a folder already, or the file system cannot do this), the folders are made one by one.
bool AttemptFolders::make_from_spare(const std::string& attempt, const std::string& job) {
  if (spare_.empty()) return false;
  if (::renameat2(AT_FDCWD, spare_.back().c_str(), AT_FDCWD, job.c_str(), RENAME_NOREPLACE) != 0) return false;
  spare_.pop_back();
  return ::rename((job + "/tmp").c_str(), (attempt + "/tmp").c_str()) == 0;
}

void AttemptFolders::take_back(const std::string& key) {
  const std::string tmp = of_attempt(key) + "/tmp", job = of_job(key);
  if (!is_as_made(tmp, 0) || !is_as_made(job, 2) || !is_as_made(job + "/checkpoints", 0) ||
      !is_as_made(job + "/output", 0))
    return;
  std::string spare = dir_ + "/spare/" + std::to_string(spare_.size());
  if (::renameat2(AT_FDCWD, job.c_str(), AT_FDCWD, spare.c_str(), RENAME_NOREPLACE) != 0) return;
  ::rename(tmp.c_str(), (spare + "/tmp").c_str());
  spare_.push_back(std::move(spare));
}

}  // namespace sl::agent
