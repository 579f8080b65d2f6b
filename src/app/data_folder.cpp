#include "app/data_folder.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

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

Status prepare_data_folder(const std::string& folder) {
  const std::filesystem::path path = std::filesystem::absolute(folder).lexically_normal();
  std::error_code failed;
  const auto parent = path.has_filename() ? path.parent_path() : path.parent_path().parent_path();
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
        .hint("choose one of its own: --data " + (path / "schedulearn").string());
  return ::access(path.c_str(), W_OK) == 0 ? Status() : not_writable(folder, errno);
}

Result<std::string> read_token(const std::string& path) {
  std::ifstream file(path);
  std::string token;
  std::getline(file, token);
  if (token.size() < 16)
    return invalid("bad-token-file", "the token file " + path + " has no first line of at least 16 characters")
        .hint("head -c 24 /dev/urandom | base64 > " + path);
  return token;
}

Result<std::string> own_token(const std::string& folder) {
  const std::string path = folder + "/token";
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0 && errno == EEXIST) return read_token(path);
  if (fd < 0) return not_writable(folder, errno);
  const std::string line = new_token() + "\n";
  const bool written = ::write(fd, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  ::close(fd);
  if (written) return read_token(path);
  ::unlink(path.c_str());
  return not_writable(folder, ENOSPC);
}

}  // namespace sl::app
