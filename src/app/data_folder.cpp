#include "app/data_folder.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "store/backup.h"
#include "store/store.h"

namespace sl::app {
namespace {

Error not_writable(const std::string& folder, int error) {
  return denied("data-directory-not-writable",
                "cannot write to the data directory " + folder + ": " + std::strerror(error))
      .hint("choose another: --data DIR");
}

std::string new_token() {
  std::array<unsigned char, 24> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) return "";
  constexpr char digits[] = "0123456789abcdef";
  std::string token;
  for (const unsigned char byte : bytes) token += {digits[byte >> 4], digits[byte & 15]};
  return token;
}

}  // namespace

Status check_use(const std::string& folder, Daemon of) {
  const bool is_controller = of == Daemon::controller;
  std::error_code none;
  const bool is_controllers = std::filesystem::exists(store::database_of(folder), none);
  const bool is_agents = std::filesystem::exists(folder + "/agent_id", none);
  if (is_controllers != is_agents && is_controllers != is_controller)
    return conflict("data-directory-in-use",
                    fmt::format("the data directory {} is {}, and a daemon needs one of its own", folder,
                                is_controller ? "an agent's" : "a controller's"))
        .hint("choose another: --data DIR");
  return {};
}

Status prepare_data_folder(const std::string& folder, Daemon of) {
  std::filesystem::path path = std::filesystem::absolute(folder);
  if (!path.has_filename()) path = path.parent_path();
  std::error_code failed;
  const auto parent = path.parent_path();
  std::filesystem::create_directories(parent, failed);
  if (failed) return not_writable(folder, failed.value());
  if (::mkdir(path.c_str(), 0700) == 0) return {};
  if (errno != EEXIST) return not_writable(folder, errno);
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return not_writable(folder, errno);
  if (!S_ISDIR(info.st_mode)) return not_writable(folder, ENOTDIR);
  if (info.st_uid != ::geteuid())
    return denied("data-directory-unsafe", "the data directory " + folder + " belongs to another user")
        .hint("choose one that is yours: --data DIR");
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return denied("data-directory-unsafe", "other users may write to the data directory " + folder)
        .hint("if it is this daemon's: chmod go-w " + path.string())
        .hint("else choose one of its own: --data " + (path / "schedulearn").string());
  if (::access(path.c_str(), W_OK) != 0) return not_writable(folder, errno);
  if (Status mine = check_use(folder, of); !mine.ok()) return mine;
  return of == Daemon::controller ? store::check_not_in_use(folder) : Status();
}

Result<std::string> read_token(const std::string& path, Daemon of) {
  std::ifstream file(path);
  const std::string failed = file ? "" : std::strerror(errno);
  std::string token;
  std::getline(file, token);
  if (token.size() >= 16) return token;
  const std::string why = failed.empty()
                              ? fmt::format("the token file {} has no first line of at least 16 characters", path)
                              : fmt::format("cannot read the token file {}: {}", path, failed);
  return invalid("bad-token-file", why)
      .hint(of == Daemon::agent ? "an admin makes one for this server: schedulearn servers add NAME"
                                : fmt::format("(umask 077; head -c 24 /dev/urandom | base64 > {})", path));
}

Result<std::string> own_token(const std::string& folder) {
  const std::string path = folder + "/token";
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0 && errno == EEXIST) return read_token(path, Daemon::controller);
  if (fd < 0) return not_writable(folder, errno);
  const std::string line = new_token() + "\n";
  const bool written = ::write(fd, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  ::close(fd);
  if (written) return read_token(path, Daemon::controller);
  ::unlink(path.c_str());
  return not_writable(folder, ENOSPC);
}

}  // namespace sl::app
