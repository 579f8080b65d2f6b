#include "agent/job_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>

namespace sl::agent {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view aside_prefix = ".removed.";

Error cannot_remove(const std::string& path, int error) {
  const char* const reason = error == EXDEV ? "another file system is mounted there" : std::strerror(error);
  return unavailable("cannot-remove", "cannot remove " + path + ": " + reason);
}

// ---- finding ----

// "17.2.500.c" is of job 17 of the cluster c, "17.2" of a job 17.
std::optional<wire::StoredJob> job_of_attempt(const std::string& name) {
  const auto incarnation = parse_key(name);
  return incarnation ? std::optional(wire::StoredJob{incarnation->cluster, incarnation->job}) : std::nullopt;
}

// The same without the number of an attempt: "17.500.c", "17".
std::optional<wire::StoredJob> job_of_folder(const std::string& name) {
  const std::size_t dot = std::min(name.find('.'), name.size());
  return job_of_attempt(name.substr(0, dot) + ".0" + name.substr(dot));
}

template <typename Visit>
void for_each_entry(const std::string& folder, const std::atomic<bool>& stop, Visit visit) {
  std::error_code failed;
  fs::directory_iterator at(folder, failed), end;
  for (; !failed && !stop && at != end; at.increment(failed)) visit(*at);
}

struct stat facts_of(const std::string& path) {
  struct stat facts {};
  if (::lstat(path.c_str(), &facts) != 0) facts = {};
  return facts;
}

std::int64_t changed_us(const struct stat& facts) {
  return static_cast<std::int64_t>(facts.st_mtim.tv_sec) * 1'000'000 + facts.st_mtim.tv_nsec / 1'000;
}

std::int64_t bytes_of(const struct stat& facts) { return static_cast<std::int64_t>(facts.st_blocks) * 512; }

std::int64_t measure(const std::string& path, const std::atomic<bool>& stop) {
  const struct stat top = facts_of(path);
  std::int64_t bytes = bytes_of(top);
  if (!S_ISDIR(top.st_mode)) return bytes;
  std::error_code failed;
  fs::recursive_directory_iterator at(path, fs::directory_options::skip_permission_denied, failed), end;
  for (; !failed && !stop && at != end; at.increment(failed)) {
    const struct stat facts = facts_of(at->path());
    if (facts.st_dev != top.st_dev) at.disable_recursion_pending();
    if (facts.st_dev == top.st_dev) bytes += bytes_of(facts);
  }
  return bytes;
}

std::int64_t measure(const JobFolders& folders, bool is_held, Measurements& measured, const std::atomic<bool>& stop) {
  const auto known = measured.find(folders.job);
  if (known != measured.end() && known->second.folders == folders.paths.size()) return known->second.bytes;
  std::int64_t bytes = 0;
  for (const std::string& path : folders.paths) bytes += measure(path, stop);
  if (!is_held && !stop) measured[folders.job] = {folders.paths.size(), bytes};
  return bytes;
}

// ---- removing ----

class Remover {
 public:
  explicit Remover(const std::atomic<bool>& stop) : stop_(stop) {}

  // Whether it is gone. If not, failure() tells the first thing that stayed, unless it was to stop.
  bool remove(const std::string& path);
  const std::optional<Error>& failure() const { return failure_; }

 private:
  // Below this depth, folders are moved to the top first: depth costs descriptors and stack.
  static constexpr int depth_max = 32;
  static constexpr int passes_max = 100;

  bool empty(int folder, const std::string& path, int depth);
  bool remove_entry(int folder, const dirent& entry, const std::string& path, int depth);
  bool remove_folder(int folder, const char* name, const std::string& path, int depth);
  bool move_up(int folder, const char* name, const std::string& path);
  bool fail(const std::string& path, int error) {
    if (!failure_) failure_ = cannot_remove(path, error);
    return false;
  }

  const std::atomic<bool>& stop_;
  std::optional<Error> failure_;
  int top_ = -1;
  dev_t device_ = 0;
  bool has_moved_up_ = false;
  int next_moved_up_ = 0;  // numbers those that were
};

// A folder of our own that nobody may list or change can still be made accessible by its owner.
int open_folder(int parent, const char* name) {
  constexpr int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  const int folder = ::openat(parent, name, flags);
  if (folder >= 0 || errno != EACCES) return folder;
  const int handle = ::openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (handle < 0) return -1;
  ::chmod(("/proc/self/fd/" + std::to_string(handle)).c_str(), 0700);
  ::close(handle);
  return ::openat(parent, name, flags);
}

bool Remover::remove(const std::string& path) {
  if (::unlink(path.c_str()) == 0 || errno == ENOENT) return true;
  top_ = open_folder(AT_FDCWD, path.c_str());
  if (top_ < 0) return fail(path, errno);
  struct stat facts {};
  ::fstat(top_, &facts);
  device_ = facts.st_dev;
  bool is_empty = false;
  do {
    has_moved_up_ = false;
    is_empty = empty(top_, path, 0);
  } while (is_empty && has_moved_up_);
  ::close(top_);
  if (!is_empty) return false;
  return ::rmdir(path.c_str()) == 0 || fail(path, errno);
}

// Reads the folder again until nothing is left: some file systems skip entries while others are being removed. Gives up
// if somebody adds new ones all the time.
bool Remover::empty(int folder, const std::string& path, int depth) {
  struct stat facts {};
  ::fstat(folder, &facts);
  if ((facts.st_mode & 0700) != 0700) ::fchmod(folder, 0700);
  DIR* entries = ::fdopendir(::fcntl(folder, F_DUPFD_CLOEXEC, 0));
  if (!entries) return fail(path, errno);
  int removed = 0, kept = 0, passes = 0;
  do {
    removed = kept = 0;
    ::rewinddir(entries);
    while (const dirent* entry = ::readdir(entries)) {
      const std::string_view name = entry->d_name;
      if (name == "." || name == "..") continue;
      if (stop_) break;
      ++(remove_entry(folder, *entry, path + "/" + entry->d_name, depth) ? removed : kept);
    }
  } while (removed > 0 && ++passes < passes_max && !stop_);
  ::closedir(entries);
  return kept == 0 && !stop_;
}

bool Remover::remove_entry(int folder, const dirent& entry, const std::string& path, int depth) {
  if (entry.d_type != DT_DIR) {
    if (::unlinkat(folder, entry.d_name, 0) == 0 || errno == ENOENT) return true;
    if (errno != EISDIR) return fail(path, errno);
  }
  if (::unlinkat(folder, entry.d_name, AT_REMOVEDIR) == 0) return true;
  return depth < depth_max ? remove_folder(folder, entry.d_name, path, depth) : move_up(folder, entry.d_name, path);
}

bool Remover::remove_folder(int folder, const char* name, const std::string& path, int depth) {
  const int below = open_folder(folder, name);
  if (below < 0) return fail(path, errno);
  struct stat facts {};
  const bool is_ours = ::fstat(below, &facts) == 0 && facts.st_dev == device_;
  const bool is_empty = is_ours && empty(below, path, depth + 1);
  ::close(below);
  if (!is_ours) return fail(path, EXDEV);
  if (!is_empty) return false;
  return ::unlinkat(folder, name, AT_REMOVEDIR) == 0 || fail(path, errno);
}

bool Remover::move_up(int folder, const char* name, const std::string& path) {
  int error = EEXIST;
  while (error == EEXIST) {
    const std::string above = "moved-up-" + std::to_string(next_moved_up_++);
    error = ::renameat2(folder, name, top_, above.c_str(), RENAME_NOREPLACE) == 0 ? 0 : errno;
  }
  has_moved_up_ = true;
  return error == 0 || fail(path, error);
}

}  // namespace

std::vector<JobFolders> find_job_files(const std::string& data_dir, const std::set<wire::StoredJob>& held,
                                       Measurements& measured, const std::atomic<bool>& stop) {
  std::map<wire::StoredJob, JobFolders> found;
  const auto add = [&](const std::optional<wire::StoredJob>& job, const std::string& path) {
    if (!job) return;
    JobFolders& folders = found[*job];
    folders.job = *job;
    folders.changed_us =
        std::max({folders.changed_us, changed_us(facts_of(path)), changed_us(facts_of(path + "/output"))});
    folders.paths.push_back(path);
  };
  for_each_entry(data_dir + "/attempts", stop,
                 [&](const auto& entry) { add(job_of_attempt(entry.path().filename()), entry.path()); });
  for_each_entry(data_dir + "/jobs", stop,
                 [&](const auto& entry) { add(job_of_folder(entry.path().filename()), entry.path()); });
  std::erase_if(measured, [&](const auto& item) { return !found.contains(item.first) || held.contains(item.first); });
  std::vector<JobFolders> all;
  for (auto& [job, folders] : found) {
    folders.bytes = measure(folders, held.contains(job), measured, stop);
    all.push_back(std::move(folders));
  }
  return all;
}

Status set_aside(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string aside = path.substr(0, slash + 1) + std::string(aside_prefix) + path.substr(slash + 1);
  if (::renameat2(AT_FDCWD, path.c_str(), AT_FDCWD, aside.c_str(), RENAME_NOREPLACE) == 0 || errno == ENOENT) return {};
  return cannot_remove(path, errno);
}

std::vector<Error> clear_set_aside(const std::string& data_dir, std::set<std::string>& failed,
                                   const std::atomic<bool>& stop) {
  std::vector<std::string> paths;
  for (const char* folder : {"/attempts", "/jobs"}) {
    for_each_entry(data_dir + folder, stop, [&](const auto& entry) {
      if (entry.path().filename().string().starts_with(aside_prefix)) paths.push_back(entry.path());
    });
  }
  std::vector<Error> errors;
  for (const std::string& path : paths) {
    if (stop) break;
    if (failed.contains(path)) continue;
    Remover remover(stop);
    if (remover.remove(path) || !remover.failure()) continue;
    failed.insert(path);
    errors.push_back(*remover.failure());
  }
  return errors;
}

bool remove_folder(const std::string& path, const std::atomic<bool>& stop) { return Remover(stop).remove(path); }

}  // namespace sl::agent
