#include "agent/whole_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace sl::agent {
namespace {

// Whatever has that name is removed before: a job may have put a link or a pipe there.
bool write_fresh(const std::string& path, std::string_view text, const Replacing& how) {
  ::unlink(path.c_str());
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, how.mode);
  if (fd < 0) return false;
  errno = ENOSPC;  // of a write that ends early
  const bool is_written =
      ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && (!how.synced || ::fsync(fd) == 0);
  const int error = errno;
  if (::close(fd) != 0) return false;  // a network file system may say only now that it is full
  errno = error;
  return is_written;
}

// Keeps the names of the files in it, too.
void sync_folder_of(const std::string& path) {
  const int fd = ::open(path.substr(0, path.rfind('/') + 1).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);
  ::close(fd);
}

}  // namespace

bool replace_file(const std::string& path, std::string_view text, const Replacing& how) {
  const std::string fresh = path + ".new";
  if (write_fresh(fresh, text, how) && std::rename(fresh.c_str(), path.c_str()) == 0) {
    if (how.synced) sync_folder_of(path);
    return true;
  }
  const int error = errno;
  ::unlink(fresh.c_str());
  errno = error;
  return false;
}

}  // namespace sl::agent
