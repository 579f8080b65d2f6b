#include "cli/arriving_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <random>
#include <utility>

#include "cli/render.h"

namespace sl::cli {
namespace {

std::array<char, PATH_MAX> arriving_name{};  // the name of the one that arrives; empty: none does

void remove_unfinished(int signal) {
  ::unlink(arriving_name.data());
  ::raise(signal);  // it is not caught a second time, and ends the program
}

void clean_up_at_signals() {
  struct sigaction action {};
  action.sa_handler = remove_unfinished;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction now {};
    if (::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_DFL) ::sigaction(signal, &action, nullptr);
  }
}

std::string name_of_its_own() {
  std::random_device device;
  return fmt::format(".schedulearn-{:08x}{:08x}", device(), device());
}

// -1 and errno: something has that name meanwhile, or it is not possible there.
int rename_without_replacing(const char* from, const char* to) {
  if (::renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return 0;
  return errno == EINVAL || errno == ENOSYS ? ::rename(from, to) : -1;  // file systems that know no such thing
}

}  // namespace

Error file_exists(const std::filesystem::path& place) {
  return conflict("file-exists", visible_name(place.string()) + " is there already")
      .hint("overwrite it: --force")
      .hint("fetch into another folder: -o DIR");
}

ArrivingFile::ArrivingFile(std::filesystem::path place) : place_(std::move(place)) {
  const std::string path = (place_.parent_path() / name_of_its_own()).string();
  file_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file_ < 0) {
    failed_ = errno;
    return;
  }
  made_ = path;
  std::strncpy(arriving_name.data(), made_.c_str(), arriving_name.size() - 1);
  clean_up_at_signals();
}

ArrivingFile::~ArrivingFile() {
  if (file_ >= 0) ::close(file_);
  if (!made_.empty()) ::unlink(made_.c_str());
  arriving_name.front() = '\0';
}

bool ArrivingFile::add(std::string_view bytes) {
  while (failed_ == 0 && !bytes.empty()) {
    const ssize_t written = ::write(file_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) failed_ = errno;
    if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return failed_ == 0;
}

Status ArrivingFile::finish(bool replaces) {
  if (failed_ == 0 && ::close(std::exchange(file_, -1)) != 0) failed_ = errno;
  if (failed_ != 0) return not_written();
  const int renamed =
      replaces ? ::rename(made_.c_str(), place_.c_str()) : rename_without_replacing(made_.c_str(), place_.c_str());
  if (renamed != 0 && errno == EEXIST && !replaces) return file_exists(place_);
  if (renamed != 0) failed_ = errno;
  if (failed_ != 0) return not_written();
  made_.clear();
  return {};
}

Status ArrivingFile::not_written() const {
  return denied("cannot-write", "cannot write " + visible_name(place_.string()) + ": " + std::strerror(failed_));
}

}  // namespace sl::cli
