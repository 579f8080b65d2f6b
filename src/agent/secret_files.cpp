#include "agent/secret_files.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>

#include "agent/files.h"
#include "wire/base64.h"
#include "wire/secrets.h"

namespace sl::agent {
namespace {

namespace fs = std::filesystem;

Error no_place(const std::string& folder, const std::string& why) {
  return unavailable("server_setup", "there is no place for secrets in " + folder + ": " + why);
}

Status write_secret(const std::string& path, const std::string& value) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0400);
  errno = fd < 0 ? errno : ENOSPC;  // of a write that ends early
  const bool is_written = fd >= 0 && ::write(fd, value.data(), value.size()) == static_cast<ssize_t>(value.size());
  const int error = errno;
  if (fd >= 0) ::close(fd);
  return is_written ? Status() : Status(no_place(path, std::strerror(error)));
}

}  // namespace

SecretFiles::SecretFiles(const std::string& agent_id) : folder_("/dev/shm/schedulearn-" + agent_id) {}

// Anybody may make folders in /dev/shm.
Status SecretFiles::prepare() const {
  ::mkdir(folder_.c_str(), 0700);
  struct stat info {};
  struct statfs disk {};
  if (::lstat(folder_.c_str(), &info) != 0) return no_place(folder_, std::strerror(errno));
  if (!S_ISDIR(info.st_mode) || info.st_uid != ::geteuid() || (info.st_mode & 077) != 0)
    return no_place(folder_, "it is another user's");
  if (::statfs(folder_.c_str(), &disk) != 0 || disk.f_type != TMPFS_MAGIC)
    return no_place(folder_, "it is not in memory (tmpfs)");
  return {};
}

Result<SecretFiles::Given> SecretFiles::give(const std::string& key, const std::vector<std::string>& wanted,
                                             const std::map<std::string, std::string>& values) const {
  remove(key);
  if (Status ready = prepare(); !ready.ok()) return ready.error();
  Given given{folder_of(key), {}};
  if (::mkdir(given.folder.c_str(), 0700) != 0) return no_place(given.folder, std::strerror(errno));
  std::set<std::string> names;
  for (const std::string& text : wanted) {
    const wire::SecretUse use = wire::parse_secret(text);
    const auto at = values.find(use.name);
    const auto value = at == values.end() ? std::nullopt : wire::decode_base64(at->second);
    if (!value) {
      remove(key);
      return invalid("setup", "its secret " + use.name + " is not stored any more");
    }
    const bool is_text = value->find('\0') == std::string::npos;
    Status done =
        !use.variable.empty() && !is_text
            ? invalid("setup", "its secret " + use.name + " is no text, so it cannot be the variable " + use.variable)
            : Status();
    if (done.ok() && names.insert(use.name).second) done = write_secret(given.folder + "/" + use.name, *value);
    if (!done.ok()) {
      remove(key);
      return done.error();
    }
    if (!use.variable.empty()) given.environment.push_back(use.variable + "=" + *value);
  }
  return given;
}

void SecretFiles::remove(const std::string& key) const {
  if (!is_there(folder_of(key))) return;  // as of most attempts
  std::error_code ignored;
  const bool had_any = fs::remove_all(folder_of(key), ignored) > 0;
  if (had_any) ::rmdir(folder_.c_str());  // if nothing else is in it
}

void SecretFiles::keep_only(const std::function<bool(const std::string& key)>& runs) const {
  std::error_code failed;
  std::vector<std::string> left;
  for (fs::directory_iterator at(folder_, failed), end; !failed && at != end; at.increment(failed)) {
    if (!runs(at->path().filename())) left.push_back(at->path().filename());
  }
  for (const std::string& key : left) remove(key);
}

}  // namespace sl::agent
