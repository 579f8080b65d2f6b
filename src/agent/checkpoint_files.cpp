#include "agent/checkpoint_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <set>

#include "agent/environment.h"
#include "net/http.h"
#include "wire/json.h"

namespace sl::agent {
namespace {

constexpr int depth_max = 64;
constexpr std::size_t entries_max = 100'000;
constexpr std::int64_t bytes_max = std::int64_t{1} << 50;

Error refused(const std::string& what, int error) {
  return invalid("checkpoint-refused", what + ": " + std::strerror(error));
}

std::int64_t nanoseconds(const timespec& t) { return static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec; }

// ---- listing ----

class Lister {
 public:
  explicit Lister(bool is_shared) : is_shared_(is_shared) {}
  Status list(int folder, const std::string& prefix, int depth);
  std::vector<CheckpointEntry> entries;

 private:
  Status add(int folder, const std::string& name, const std::string& path, int depth);
  bool is_shared_;
};

Result<std::vector<std::string>> names_in(int folder, const std::string& prefix) {
  DIR* const opened = ::fdopendir(::fcntl(folder, F_DUPFD_CLOEXEC, 0));
  if (!opened) return refused("cannot read the folder " + prefix, errno);
  ::rewinddir(opened);
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(opened)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != ".." && !name.starts_with(shared_prefix)) names.emplace_back(name);
  }
  ::closedir(opened);
  std::sort(names.begin(), names.end());
  return names;
}

Status Lister::list(int folder, const std::string& prefix, int depth) {
  if (depth > depth_max) return invalid("checkpoint-refused", "folders in folders, more than 64 deep: " + prefix);
  const auto names = names_in(folder, prefix);
  if (!names.ok()) return names.error();
  for (const std::string& name : *names) {
    if (is_shared_ && depth == 0 && is_job_subfolder(name)) continue;
    if (Status added = add(folder, name, prefix + name, depth); !added.ok()) return added;
  }
  return {};
}

Status Lister::add(int folder, const std::string& name, const std::string& path, int depth) {
  struct stat facts {};
  if (::fstatat(folder, name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0)
    return refused("cannot look at " + path, errno);
  CheckpointEntry entry;
  entry.path = path;
  entry.mtime_ns = nanoseconds(facts.st_mtim);
  entry.mode = facts.st_mode & 0777;
  if (S_ISREG(facts.st_mode)) {
    entry.kind = "file";
    entry.size = facts.st_size;
  } else if (S_ISLNK(facts.st_mode)) {
    char target[PATH_MAX];
    const ssize_t length = ::readlinkat(folder, name.c_str(), target, sizeof target);
    if (length < 0) return refused("cannot read the link " + path, errno);
    entry.kind = "link";
    entry.target.assign(target, static_cast<std::size_t>(length));
  } else if (S_ISDIR(facts.st_mode)) {
    entry.kind = "folder";
  } else {
    return {};  // no checkpoint is kept in a device, a fifo or a socket
  }
  if (entries.size() >= entries_max) return invalid("checkpoint-refused", "it has more than 100000 files");
  const bool is_folder = entry.kind == "folder";
  entries.push_back(std::move(entry));
  if (!is_folder) return {};
  const Descriptor below(::openat(folder, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!below.valid()) return refused("cannot open the folder " + path, errno);
  return list(below.get(), path + "/", depth + 1);
}

// ---- the list as text ----

bool is_plain(const std::string& path) {
  if (path.empty() || path.size() >= PATH_MAX || path.find('\0') != std::string::npos) return false;
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t slash = std::min(path.find('/', at), path.size());
    const std::string_view name = std::string_view(path).substr(at, slash - at);
    if (name.empty() || name == "." || name == ".." || name.size() > NAME_MAX || name.starts_with(shared_prefix))
      return false;
    at = slash + 1;
  }
  return true;
}

Status check(const CheckpointList& list) {
  const auto bad = [](const CheckpointEntry& entry, const char* why) {
    return invalid("bad-list",
                   "the list of the checkpoint's files is not one: " + net::percent_encode(entry.path) + " " + why);
  };
  if (list.entries.size() > entries_max) return invalid("bad-list", "the list of the checkpoint's files is too long");
  std::set<std::string_view> folders = {""}, known;
  std::int64_t bytes = 0;
  for (const CheckpointEntry& entry : list.entries) {
    const std::string_view path = entry.path;
    if (!is_plain(entry.path)) return bad(entry, "is no path in it");
    if (!folders.contains(path.substr(0, path.rfind('/') == path.npos ? 0 : path.rfind('/'))))
      return bad(entry, "is in no folder of it");
    if (!known.insert(path).second) return bad(entry, "comes twice");
    if (entry.kind == "folder") folders.insert(path);
    if (entry.kind != "folder" && entry.kind != "file" && entry.kind != "link") return bad(entry, "is nothing known");
    if (entry.kind == "link" &&
        (entry.target.empty() || entry.target.size() >= PATH_MAX || entry.target.find('\0') != std::string::npos))
      return bad(entry, "links to nothing");
    if (entry.size < 0 || entry.size > bytes_max - bytes) return bad(entry, "has an impossible size");
    bytes += entry.size;
  }
  return {};
}

}  // namespace

std::int64_t CheckpointList::bytes() const {
  std::int64_t sum = 0;
  for (const CheckpointEntry& entry : entries) sum += entry.size;
  return sum;
}

std::string to_text(const CheckpointList& list) {
  CheckpointList encoded = list;
  for (CheckpointEntry& entry : encoded.entries) {
    entry.path = net::percent_encode(entry.path);
    entry.target = net::percent_encode(entry.target);
  }
  return wire::write_json(encoded);
}

Result<CheckpointList> parse_list(std::string_view text) {
  auto list = wire::read_json<CheckpointList>(text, wire::Unknown::ignore);
  if (!list.ok()) return list.error();
  for (CheckpointEntry& entry : list->entries) {
    entry.path = net::percent_decode(entry.path, false);
    entry.target = net::percent_decode(entry.target, false);
    entry.mode &= 0777;
  }
  if (Status good = check(*list); !good.ok()) return good.error();
  return list;
}

// ---- opening ----

Result<Descriptor> open_checkpoint(const std::string& path) {
  Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (folder.valid()) return folder;
  const int error = errno;
  if (error == ENOENT) return not_found("checkpoint-missing", "there is no folder " + path);
  struct stat facts {};
  if (::lstat(path.c_str(), &facts) == 0 && S_ISLNK(facts.st_mode))
    return invalid("checkpoint-refused", path + " is a link; name the folder that it leads to as checkpoint.dir");
  return refused("cannot open " + path, error);
}

Result<CheckpointList> list_checkpoint(int folder, bool is_shared) {
  struct stat facts {};
  if (::fstat(folder, &facts) != 0) return refused("cannot look at the checkpoint folder", errno);
  Lister lister(is_shared);
  if (Status listed = lister.list(folder, "", 0); !listed.ok()) return listed.error();
  CheckpointList list{facts.st_mode & 0777, std::move(lister.entries)};
  // Files with holes can say any size, and no server that is asked for so much room would be at fault.
  struct statvfs disk {};
  if (::fstatvfs(folder, &disk) == 0 && list.bytes() > static_cast<std::int64_t>(disk.f_blocks * disk.f_frsize))
    return invalid("checkpoint-refused", "the files of the checkpoint say that they are larger than their disk");
  return list;
}

int open_beneath(int folder, const std::string& path, int flags, mode_t mode) {
  constexpr int tries = 5;  // the kernel gives up when something is renamed at the same time
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC | O_NOFOLLOW);
  how.mode = (flags & O_CREAT) != 0 ? mode : 0;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
  long fd = -1;
  for (int i = 0; i < tries && fd < 0 && (i == 0 || errno == EAGAIN); ++i)
    fd = ::syscall(SYS_openat2, folder, path.c_str(), &how, sizeof how);
  if (fd < 0 && (errno == ENOSYS || errno == EPERM)) return open_step_by_step(folder, path, flags, mode);
  return static_cast<int>(fd);
}

int open_step_by_step(int folder, const std::string& path, int flags, mode_t mode) {
  Descriptor above(::fcntl(folder, F_DUPFD_CLOEXEC, 0));
  std::size_t at = 0;
  for (std::size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', at)) {
    const std::string name = path.substr(at, slash - at);
    if (name.empty() || name == "." || name == "..") return errno = EXDEV, -1;
    above = Descriptor(::openat(above.get(), name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!above.valid()) return -1;
    at = slash + 1;
  }
  const std::string last = path.substr(at);
  if (last.empty() || last == "." || last == "..") return errno = EXDEV, -1;
  return ::openat(above.get(), last.c_str(), flags | O_NOFOLLOW | O_CLOEXEC, mode);
}

}  // namespace sl::agent
