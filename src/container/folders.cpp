#include "container/folders.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>

#include "wire/utf8.h"

namespace sl::container {
namespace {

bool become(const Account& account) {
  return ::setgroups(account.groups.size(), account.groups.data()) == 0 && ::setgid(account.gid) == 0 &&
         ::setuid(account.uid) == 0;
}

// The folder or file that the path leads to for this user; else errno, below zero as text. In a process of its own, which
// has the user's rights.
Result<std::string> real_path_for(const Account& account, const std::string& path, bool make) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return unavailable("server_setup", std::strerror(errno));
  const pid_t child = ::fork();
  if (child == 0) {
    std::error_code failed;
    if (::geteuid() == 0 && account.uid != 0 && !become(account)) ::_exit(EPERM);
    if (make) std::filesystem::create_directories(path, failed);
    char* real = ::realpath(path.c_str(), nullptr);
    if (!real) ::_exit(errno);
    const bool told = ::write(ends[1], real, std::strlen(real)) > 0;
    ::_exit(told ? 0 : EIO);
  }
  ::close(ends[1]);
  std::string real(1 << 12, '\0');
  const ssize_t n = child > 0 ? ::read(ends[0], real.data(), real.size()) : -1;
  ::close(ends[0]);
  int status = 0;
  if (child > 0) ::waitpid(child, &status, 0);
  if (n > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0) return real.substr(0, static_cast<std::size_t>(n));
  return invalid("setup", std::strerror(child > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : EAGAIN));
}

// Without "." and "..", slashes that say nothing, and one at the end: engines compare texts.
std::string plain(const std::string& path) {
  std::string text = std::filesystem::path(path).lexically_normal().string();
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  return text;
}

bool is_in(const std::string& path, std::string folder) {
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  return !folder.empty() && (path == folder || path.starts_with(folder == "/" ? folder : folder + "/"));
}

std::vector<std::string> real_folders(const std::vector<std::string>& allowed, const std::string& home) {
  std::vector<std::string> real;
  const auto add = [&](const std::string& folder) {
    if (char* path = folder.empty() ? nullptr : ::realpath(folder.c_str(), nullptr))
      real.emplace_back(path), ::free(path);
  };
  for (const std::string& folder : allowed) add(folder);
  if (home != "/") add(home);
  return real;
}

// An entry that hard links could have brought here is not ours to give.
void give_at(int parent, const char* name, const Account& account) {
  struct stat info {};
  if (::fstatat(parent, name, &info, AT_SYMLINK_NOFOLLOW) != 0) return;
  const bool is_folder = S_ISDIR(info.st_mode);
  if (info.st_uid == ::geteuid() && (is_folder || info.st_nlink == 1))
    (void)!::fchownat(parent, name, account.uid, account.gid, AT_SYMLINK_NOFOLLOW);
  if (!is_folder) return;
  const int folder = ::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  DIR* entries = folder < 0 ? nullptr : ::fdopendir(folder);
  if (!entries) return;
  while (const dirent* entry = ::readdir(entries)) {
    if (std::strcmp(entry->d_name, ".") != 0 && std::strcmp(entry->d_name, "..") != 0)
      give_at(folder, entry->d_name, account);
  }
  ::closedir(entries);
}

}  // namespace

Result<Account> account_of(const std::string& user, bool allow_root) {
  Account account{::geteuid(), ::getegid(), {}, ""};
  const passwd* entry = account.uid == 0 ? ::getpwnam(user.c_str()) : ::getpwuid(account.uid);
  if (account.uid == 0 && !entry)
    return invalid("setup",
                   fmt::format("{} has no account on this server, and a container runs as the job's user", user));
  if (!entry) return account;
  account.uid = entry->pw_uid, account.gid = entry->pw_gid, account.home = entry->pw_dir;
  if (account.uid == 0 && !allow_root)
    return invalid("setup",
                   "this server runs no containers as root; submit the job as another user, or have its admin "
                   "start the agent with --allow-container-root");
  int count = 64;
  do account.groups.resize(static_cast<std::size_t>(count));
  while (::getgrouplist(entry->pw_name, account.gid, account.groups.data(), &count) < 0);
  account.groups.resize(static_cast<std::size_t>(count));
  return account;
}

Status check_mountable(const std::string& key, const std::string& path) {
  if (path.find_first_of(",\"") == std::string::npos && !wire::has_control_characters(path)) return {};
  return invalid("setup",
                 fmt::format("{}: {} cannot be mounted in a container, since its path has a comma, a quotation "
                             "mark or a control character",
                             key, path));
}

Result<std::vector<Bind>> resolve(const std::vector<NamedFolder>& folders, const std::vector<std::string>& allowed,
                                  const Account& account) {
  const std::vector<std::string> real_allowed = real_folders(allowed, account.home);
  std::vector<Bind> binds;
  for (const NamedFolder& folder : folders) {
    const std::string named = folder.from[0] == '~' ? account.home + folder.from.substr(1) : folder.from;
    const std::string to = plain(folder.to[0] == '~' ? account.home + folder.to.substr(1) : folder.to);
    const auto covers = [&](const Bind& bind) {
      return bind.from == bind.to && bind.writable && is_in(named, bind.from);
    };
    if (folder.key == "checkpoint.dir" && std::ranges::any_of(binds, covers)) continue;
    const Result<std::string> real = real_path_for(account, named, folder.make);
    if (!real.ok())
      return invalid(real.error().code, fmt::format("{}: cannot use {}: {}", folder.key, named, real.error().message));
    const bool may = std::ranges::any_of(real_allowed, [&](const std::string& one) { return is_in(*real, one); });
    if (!may)
      return invalid("setup", fmt::format("{}: {} is not in the home of {} nor in a folder that this server lets "
                                          "containers see (agent run --allow-mount DIR)",
                                          folder.key, *real, "its user"));
    for (const std::string& path : {*real, to}) {
      if (Status status = check_mountable(folder.key, path); !status.ok()) return status.error();
    }
    const auto there = std::ranges::find(binds, to, &Bind::to);
    if (there == binds.end()) {
      binds.push_back({*real, to, folder.writable});
    } else if (there->from == *real) {
      there->writable |= folder.writable;
    } else {
      return invalid("setup", fmt::format("{}: {} and {} are both to be mounted at {}", folder.key, there->from, *real, to));
    }
  }
  return binds;
}

void give(const std::string& path, const Account& account) {
  if (account.uid != ::geteuid()) give_at(AT_FDCWD, path.c_str(), account);
}

}  // namespace sl::container
