#include "agent/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "agent/whole_file.h"

namespace sl::agent {
namespace {

constexpr std::size_t text_max = 16 << 20;

bool write_to(const std::string& path, std::string_view text, int how) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_NONBLOCK | O_CLOEXEC | how, 0666);
  if (fd < 0) return false;
  const bool is_written = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  ::close(fd);
  return is_written;
}

}  // namespace

bool is_there(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0;
}

std::string read_text(const std::string& path) {
  std::string text;
  const int fd = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return text;
  char piece[4096];
  for (ssize_t n = 0; text.size() < text_max && (n = ::read(fd, piece, sizeof piece)) > 0;)
    text.append(piece, static_cast<std::size_t>(n));
  ::close(fd);
  return text;
}

bool write_text(const std::string& path, std::string_view text) { return write_to(path, text, O_TRUNC); }

bool append_text(const std::string& path, std::string_view text) { return write_to(path, text, O_APPEND); }

std::optional<FilePiece> read_piece(const std::string& path, std::int64_t offset, std::int64_t limit, const Gap& gap) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  struct stat info {};
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) return ::close(fd), std::nullopt;
  FilePiece piece;
  piece.size = info.st_size;
  piece.offset = offset < 0 ? std::max<std::int64_t>(0, piece.size + offset) : std::min(offset, piece.size);
  if (piece.offset >= gap.from && piece.offset < gap.to) piece.offset = gap.to;
  const std::int64_t end = piece.offset < gap.from ? gap.from : piece.size;
  piece.bytes.resize(static_cast<std::size_t>(
      std::clamp<std::int64_t>(end - piece.offset, 0, std::clamp<std::int64_t>(limit, 0, 1 << 20))));
  const ssize_t n = ::pread(fd, piece.bytes.data(), piece.bytes.size(), piece.offset);
  piece.bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  ::close(fd);
  return piece;
}

Gap output_gap(const std::string& attempt_dir) {
  Gap gap;
  std::istringstream(read_text(attempt_dir + "/gap")) >> gap.from >> gap.to;
  return gap;
}

// The gap is recorded before it is made, so that no one reads zeros that no job wrote.
std::optional<FilePiece> read_output(const std::string& attempt_dir, std::int64_t offset, std::int64_t limit) {
  return read_piece(attempt_dir + "/output", offset, limit, output_gap(attempt_dir));
}

bool bound_output(const std::string& attempt_dir, std::int64_t limit) {
  struct stat info {};
  const std::string path = attempt_dir + "/output";
  if (::stat(path.c_str(), &info) != 0 || info.st_size <= limit) return true;
  const Gap before = output_gap(attempt_dir);
  const Gap gap = {limit / 4, info.st_size - (limit - limit / 4)};
  if (gap.to - std::max(before.to, gap.from) < limit / 16) return true;  // a few large cuts instead of many small ones
  if (!replace_file(attempt_dir + "/gap", std::to_string(gap.from) + ' ' + std::to_string(gap.to) + '\n')) return false;
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  const bool punched =
      fd >= 0 && ::fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, gap.from, gap.to - gap.from) == 0;
  if (fd >= 0) ::close(fd);
  if (!punched) ::unlink((attempt_dir + "/gap").c_str());
  return punched;
}

std::optional<FolderFacts> look_into(const std::string& folder, bool (*left_out)(std::string_view name)) {
  namespace fs = std::filesystem;
  constexpr int entries_max = 10'000, depth_max = 32;  // the agent waits meanwhile
  std::error_code failed;
  FolderFacts facts;
  int entries = 0, files = 0;
  fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, failed), end;
  for (; !failed && at != end && entries < entries_max; at.increment(failed), ++entries) {
    const bool is_left_out = left_out && at.depth() == 0 && left_out(at->path().filename().string());
    if (at.depth() >= depth_max || is_left_out) at.disable_recursion_pending();
    if (is_left_out) continue;
    struct stat info {};
    if (::lstat(at->path().c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    ++files;
    facts.bytes += info.st_size;
    facts.newest_us = std::max<std::int64_t>(
        facts.newest_us, static_cast<std::int64_t>(info.st_mtim.tv_sec) * 1'000'000 + info.st_mtim.tv_nsec / 1'000);
  }
  return files > 0 ? std::optional(facts) : std::nullopt;
}

}  // namespace sl::agent
