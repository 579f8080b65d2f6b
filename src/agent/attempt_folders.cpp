#include "agent/attempt_folders.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "agent/files.h"
#include "agent/whole_file.h"

namespace sl::agent {
namespace {

constexpr mode_t mode = 0700;

constexpr std::uint64_t room_min = 16 << 20;

Error failed(const std::string& what, int error) {
  return unavailable("server_setup", what + ": " + std::strerror(error));
}

// How many entries a folder has, with few calls of the system: each attempt that ends is looked at.
std::size_t count_names(int folder) {
  alignas(dirent64) char entries[1024];
  std::size_t count = 0;
  for (ssize_t bytes = 0; (bytes = ::getdents64(folder, entries, sizeof entries)) > 0;) {
    for (ssize_t at = 0; at < bytes;) {
      const auto* entry = reinterpret_cast<const dirent64*>(entries + at);
      count += entry->d_name != std::string_view(".") && entry->d_name != std::string_view("..");
      at += entry->d_reclen;
    }
  }
  return count;
}

// The folder, which is not a link to one and which only we may access, and nothing but these empty folders of the same
// kind in it: as it was made. `at`: the folder that has it.
bool is_as_made(int at, const char* path, std::initializer_list<const char*> folders) {
  const int fd = ::openat(at, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return false;
  struct stat info {};
  bool same = ::fstat(fd, &info) == 0 && info.st_uid == ::geteuid() && (info.st_mode & 07777) == mode;
  same = same && count_names(fd) == folders.size();
  same = same && std::ranges::all_of(folders, [&](const char* one) { return is_as_made(fd, one, {}); });
  ::close(fd);
  return same;
}

}  // namespace

AttemptFolders::AttemptFolders(std::string data_dir) : dir_(std::move(data_dir)) {
  for (const char* name : {"/attempts", "/jobs", "/spare"}) ::mkdir((dir_ + name).c_str(), mode);
  std::error_code failed;
  for (std::filesystem::directory_iterator at(dir_ + "/spare", failed), end; !failed && at != end; at.increment(failed))
    spare_.push_back(at->path().string());
}

std::int64_t AttemptFolders::first_of(const std::string& key) const {
  const std::string number = read_text(of_attempt(key) + "/first");
  return number.empty() ? parse_key(key).value_or(Incarnation{}).number : std::atoll(number.c_str());
}

std::string AttemptFolders::of_job(const std::string& key) const {
  Incarnation first = parse_key(key).value_or(Incarnation{});
  first.number = first_of(key);
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
  const std::string record = attempt + "/first";
  if (std::exchange(incarnation.number, first) != first && !replace_file(record, std::to_string(first)))
    return failed("cannot write " + record, errno);
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

bool AttemptFolders::take_back(const std::string& key, const std::string& job) {
  const std::string tmp = of_attempt(key) + "/tmp";
  const bool has_nothing =
      is_as_made(AT_FDCWD, tmp.c_str(), {}) && is_as_made(AT_FDCWD, job.c_str(), {"checkpoints", "output"});
  if (!has_nothing) return false;
  std::string spare = dir_ + "/spare/" + std::to_string(spare_.size());
  if (::renameat2(AT_FDCWD, job.c_str(), AT_FDCWD, spare.c_str(), RENAME_NOREPLACE) != 0) return true;
  ::rename(tmp.c_str(), (spare + "/tmp").c_str());
  spare_.push_back(std::move(spare));
  return true;
}

}  // namespace sl::agent
