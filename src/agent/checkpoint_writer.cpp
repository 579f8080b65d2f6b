#include "agent/checkpoint_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <vector>

#include "agent/files.h"
#include "agent/job_files.h"

namespace sl::agent {
namespace {

constexpr std::int64_t flush_bytes = 8 << 20;  // so that the disk works while more arrives
constexpr std::int64_t room_to_leave = 16 << 20;

std::string beside(const std::string& folder, const std::string& before, const std::string& after) {
  const std::size_t slash = folder.rfind('/');
  return folder.substr(0, slash + 1) + before + folder.substr(slash + 1) + after;
}
std::string arriving(const std::string& folder) { return beside(folder, ".", ".arriving"); }
std::string list_of(const std::string& folder) { return beside(folder, ".", ".arriving.list"); }
std::string parent_of(const std::string& folder) {
  return folder.substr(0, std::max<std::size_t>(1, folder.rfind('/')));
}

// A folder that the job's owner may not write to says nothing about the server.
Error write_failure(const std::string& what, int error) {
  constexpr int of_place[] = {EACCES, EPERM, ENOTDIR, ELOOP, ENAMETOOLONG, EROFS, EBUSY, EXDEV, EINVAL};
  const bool is_place = std::ranges::count(of_place, error) > 0;
  return unavailable(is_place ? "checkpoint-refused" : "server_setup", what + ": " + std::strerror(error));
}

bool sync_folder(const std::string& path) {
  const Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return folder.valid() && ::fsync(folder.get()) == 0;
}

timespec time_of(std::int64_t ns) {
  return {static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
}

// Gives it its time and permissions, and sees that it is on the disk.
Status settle(int folder, const CheckpointEntry& made) {
  const Descriptor opened(
      open_beneath(folder, made.path, O_RDONLY | O_NONBLOCK | (made.kind == "folder" ? O_DIRECTORY : 0)));
  if (!opened.valid()) return write_failure("cannot open " + made.path + " of a checkpoint", errno);
  const timespec times[2] = {time_of(made.mtime_ns), time_of(made.mtime_ns)};
  ::futimens(opened.get(), times);
  ::fchmod(opened.get(), static_cast<mode_t>(made.mode));
  if (::fsync(opened.get()) != 0) return write_failure("cannot write " + made.path + " of a checkpoint", errno);
  return {};
}

void remove_all(const std::string& path) {
  static const std::atomic<bool> never = false;
  remove_folder(path, never);
}

}  // namespace

Result<std::unique_ptr<CheckpointWriter>> CheckpointWriter::open(CheckpointPlace place, CheckpointList list) {
  std::unique_ptr<CheckpointWriter> writer(new CheckpointWriter(std::move(place), std::move(list)));
  if (Status begun = writer->begin(); !begun.ok()) return begun.error();
  return writer;
}

void CheckpointWriter::discard(const std::string& folder) {
  ::unlink(list_of(folder).c_str());
  remove_all(arriving(folder));
}

std::string CheckpointWriter::set_aside(const std::string& folder) {
  const std::string aside = arriving(folder) + ".left";
  ::unlink(list_of(folder).c_str());
  ::rename(arriving(folder).c_str(), aside.c_str());
  return aside;
}

Status CheckpointWriter::begin() {
  if (Status good = check_place(); !good.ok()) return good;
  std::error_code error;
  std::filesystem::create_directories(parent_of(place_.folder), error);
  if (error) return write_failure("cannot make " + parent_of(place_.folder), error.value());
  if (resume()) return check_room();
  discard(place_.folder);
  if (Status room = check_room(); !room.ok()) return room;
  const std::string path = arriving(place_.folder);
  if (::mkdir(path.c_str(), 0700) != 0) return write_failure("cannot make " + path, errno);
  folder_ = Descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder_.valid()) return write_failure("cannot open " + path, errno);
  if (Status made = make_folders(); !made.ok()) return made;
  go_to_file(0);
  std::ofstream text(list_of(place_.folder));
  text << place_.boot << "\n" << to_text(list_);
  return text.flush() ? Status() : write_failure("cannot write " + list_of(place_.folder), ENOSPC);
}

Status CheckpointWriter::check_place() const {
  struct stat facts {};
  if (::lstat(place_.folder.c_str(), &facts) != 0 || S_ISDIR(facts.st_mode)) return {};
  return invalid("checkpoint-refused",
                 place_.folder + " is " + (S_ISLNK(facts.st_mode) ? "a link" : "no folder") + " on this server");
}

// Files arrive in the order of the list: all but the last one that is there have been verified.
bool CheckpointWriter::resume() {
  if (read_text(list_of(place_.folder)) != place_.boot + "\n" + to_text(list_)) return false;
  folder_ = Descriptor(::open(arriving(place_.folder).c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder_.valid()) return false;
  go_to_file(0);
  while (!is_complete()) {
    const std::size_t next = file_from(list_, at_.file + 1);
    const bool is_last = next == list_.entries.size() ||
                         !Descriptor(open_beneath(folder_.get(), list_.entries[next].path, O_PATH)).valid();
    if (is_last) break;
    bytes_done_ += entry().size;
    go_to_file(next);
  }
  if (is_complete()) return true;
  Descriptor file(open_beneath(folder_.get(), entry().path, O_RDWR));
  struct stat facts {};
  if (!file.valid()) return errno == ENOENT;  // not begun
  if (::fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode) || facts.st_size > entry().size) return false;
  if (!archive::add_file(digest_, file.get(), facts.st_size)) return false;
  at_.offset = flushed_ = facts.st_size;
  bytes_done_ += facts.st_size;
  file_ = std::move(file);
  return true;
}

Status CheckpointWriter::check_room() const {
  struct statvfs disk {};
  const std::string parent = parent_of(place_.folder);
  if (::statvfs(parent.c_str(), &disk) != 0) return write_failure("cannot look at " + parent, errno);
  const auto free = static_cast<std::int64_t>(disk.f_bavail * disk.f_frsize), needed = list_.bytes() - bytes_done_;
  if (free >= needed + room_to_leave) return {};
  return unavailable("server_setup", fmt::format("the checkpoint needs {} MiB more, and {} MiB are free in {}",
                                                 needed >> 20, free >> 20, parent));
}

Status CheckpointWriter::make_folders() {
  for (const CheckpointEntry& made : list_.entries) {
    if (made.kind != "folder") continue;
    const std::size_t slash = made.path.rfind('/');
    const bool is_top = slash == std::string::npos;
    const Descriptor above(is_top ? ::fcntl(folder_.get(), F_DUPFD_CLOEXEC, 0)
                                  : open_beneath(folder_.get(), made.path.substr(0, slash), O_PATH | O_DIRECTORY));
    if (!above.valid() || ::mkdirat(above.get(), made.path.substr(is_top ? 0 : slash + 1).c_str(), 0700) != 0)
      return write_failure("cannot make the folder " + made.path + " of a checkpoint", errno);
  }
  return {};
}

void CheckpointWriter::go_to_file(std::size_t entry) {
  at_ = {file_from(list_, entry), 0};
  file_ = Descriptor();
  flushed_ = 0;
  digest_ = archive::Digest();
  told_digest_.clear();
}

// ---- the row of bytes ----

Status CheckpointWriter::write(std::string_view bytes) {
  while (!bytes.empty() && !is_complete()) {
    if (!file_.valid()) {
      if (Status opened = open_file(); !opened.ok()) return opened;
    }
    if (at_.offset == entry().size) {
      const std::size_t n = std::min(bytes.size(), archive::Digest::size - told_digest_.size());
      told_digest_ += bytes.substr(0, n);
      bytes.remove_prefix(n);
      if (told_digest_.size() < archive::Digest::size) return {};
      if (Status ended = end_file(); !ended.ok()) return ended;
      continue;
    }
    const auto most = static_cast<std::size_t>(std::min<std::int64_t>(entry().size - at_.offset, 1 << 20));
    const ssize_t n = ::pwrite(file_.get(), bytes.data(), std::min(bytes.size(), most), at_.offset);
    if (n <= 0) return write_failure("cannot write " + entry().path + " of a checkpoint", n < 0 ? errno : ENOSPC);
    digest_.add(bytes.substr(0, static_cast<std::size_t>(n)));
    bytes.remove_prefix(static_cast<std::size_t>(n));
    at_.offset += n;
    bytes_done_ += n;
    if (at_.offset - flushed_ >= flush_bytes) {
      ::sync_file_range(file_.get(), flushed_, at_.offset - flushed_, SYNC_FILE_RANGE_WRITE);
      flushed_ = at_.offset;
    }
  }
  return {};
}

Status CheckpointWriter::open_file() {
  file_ = Descriptor(open_beneath(folder_.get(), entry().path, O_WRONLY | O_CREAT | O_EXCL, 0600));
  return file_.valid() ? Status() : write_failure("cannot make " + entry().path + " of a checkpoint", errno);
}

Status CheckpointWriter::end_file() {
  if (digest_.take() != told_digest_) {
    bytes_done_ -= entry().size;
    if (::ftruncate(file_.get(), 0) != 0)
      return write_failure("cannot write " + entry().path + " of a checkpoint", errno);
    at_.offset = flushed_ = 0;
    told_digest_.clear();
    return unavailable("damaged", "its file " + entry().path + " was damaged on the way");
  }
  ::sync_file_range(file_.get(), flushed_, 0, SYNC_FILE_RANGE_WRITE);
  go_to_file(at_.file + 1);
  return {};
}

// ---- the end ----

Status CheckpointWriter::finish() {
  if (Status settled = settle_entries(); !settled.ok()) return settled;
  if (::fsync(folder_.get()) != 0) return write_failure("cannot write " + arriving(place_.folder), errno);
  return take_place();
}

// Links come last, so that nothing is ever written through one. Then times and permissions from the inside out, for what
// is made in a folder changes its time, and what may be made in it depends on its permissions. Everything is synced here
// and not file by file: one commit of the file system's journal then serves many files.
Status CheckpointWriter::settle_entries() {
  for (const CheckpointEntry& link : list_.entries) {
    if (link.kind != "link") continue;
    const std::size_t slash = link.path.rfind('/');
    const bool is_top = slash == std::string::npos;
    const Descriptor above(is_top ? ::fcntl(folder_.get(), F_DUPFD_CLOEXEC, 0)
                                  : open_beneath(folder_.get(), link.path.substr(0, slash), O_PATH | O_DIRECTORY));
    const std::string name = link.path.substr(is_top ? 0 : slash + 1);
    if (!above.valid()) return write_failure("cannot make the link " + link.path + " of a checkpoint", errno);
    if (::symlinkat(link.target.c_str(), above.get(), name.c_str()) != 0 && errno != EEXIST)
      return write_failure("cannot make the link " + link.path + " of a checkpoint", errno);
    const timespec times[2] = {time_of(link.mtime_ns), time_of(link.mtime_ns)};
    ::utimensat(above.get(), name.c_str(), times, AT_SYMLINK_NOFOLLOW);
  }
  for (auto made = list_.entries.rbegin(); made != list_.entries.rend(); ++made) {
    if (made->kind == "link") continue;
    if (Status settled = settle(folder_.get(), *made); !settled.ok()) return settled;
  }
  ::fchmod(folder_.get(), static_cast<mode_t>(list_.mode));
  return {};
}

Status CheckpointWriter::take_place() {
  const std::string from = arriving(place_.folder), parent = parent_of(place_.folder);
  if (!sync_folder(parent)) return write_failure("cannot write " + parent, errno);
  if (::rename(from.c_str(), place_.folder.c_str()) != 0) {  // works if nothing or an empty folder is there
    if (errno != ENOTEMPTY && errno != EEXIST) return write_failure("cannot make " + place_.folder, errno);
    Status placed;
    switch (place_.holder ? place_.holder() : CheckpointHolder::own) {
      case CheckpointHolder::own:
        placed = exchange();
        break;
      case CheckpointHolder::had_before:
        remove_all(kept_as_older());
        placed = put_aside(kept_as_older());
        break;
      case CheckpointHolder::unknown:
        placed = put_aside(kept_as_found());
        break;
      case CheckpointHolder::several:
        placed = join();
    }
    if (!placed.ok()) return placed;
  }
  if (!sync_folder(parent)) return write_failure("cannot write " + parent, errno);
  discard(place_.folder);
  return {};
}

// Without its list, what lies in the arriving folder is rubbish: from here on that may be the older copy.
Status CheckpointWriter::exchange() {
  const std::string from = arriving(place_.folder);
  ::unlink(list_of(place_.folder).c_str());
  if (!sync_folder(parent_of(place_.folder))) return write_failure("cannot write " + parent_of(place_.folder), errno);
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, place_.folder.c_str(), RENAME_EXCHANGE) == 0) return {};
  const std::string kept = kept_as_found();
  if (Status aside = put_aside(kept); !aside.ok()) return aside;
  remove_all(kept);
  return {};
}

Status CheckpointWriter::put_aside(const std::string& kept) {
  if (::rename(place_.folder.c_str(), kept.c_str()) != 0) return write_failure("cannot move " + place_.folder, errno);
  if (::rename(arriving(place_.folder).c_str(), place_.folder.c_str()) == 0) return {};
  return write_failure("cannot make " + place_.folder, errno);
}

std::string CheckpointWriter::kept_as_found() const {
  const std::string name = place_.folder + ".before-job-" + std::to_string(place_.job);
  struct stat facts {};
  for (int i = 1;; ++i) {
    const std::string numbered = i == 1 ? name : name + "-" + std::to_string(i);
    if (::lstat(numbered.c_str(), &facts) != 0) return numbered;
  }
}

Status CheckpointWriter::join() {
  const std::string from = arriving(place_.folder) + "/", to = place_.folder + "/", kept = kept_as_older();
  ::unlink(list_of(place_.folder).c_str());
  remove_all(kept);
  for (const CheckpointEntry& folder : list_.entries) {  // what is in it can be moved only if it can be written to
    if (folder.kind == "folder") ::chmod((from + folder.path).c_str(), 0700);
  }
  std::set<std::string> closed;  // folders of the copy where something else has that name
  std::vector<const CheckpointEntry*> made;
  for (const CheckpointEntry& arrived : list_.entries) {
    const std::size_t slash = arrived.path.rfind('/');
    const bool is_closed = slash != std::string::npos && closed.contains(arrived.path.substr(0, slash));
    if (arrived.kind != "folder") {
      if (is_closed) continue;
      if (Status joined = join_entry(arrived, kept); !joined.ok()) return joined;
      continue;
    }
    struct stat there {};
    if (is_closed || (::lstat((to + arrived.path).c_str(), &there) == 0 && !S_ISDIR(there.st_mode))) {
      closed.insert(arrived.path);
    } else if (::mkdir((to + arrived.path).c_str(), 0700) == 0) {
      made.push_back(&arrived);
    } else if (errno != EEXIST) {
      return write_failure("cannot make " + to + arrived.path, errno);
    }
  }
  const Descriptor place(::open(place_.folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  for (auto folder = made.rbegin(); folder != made.rend(); ++folder) {
    if (Status settled = settle(place.get(), **folder); !settled.ok()) return settled;
  }
  return ::fsync(place.get()) == 0 ? Status() : write_failure("cannot write " + place_.folder, errno);
}

Status CheckpointWriter::join_entry(const CheckpointEntry& arrived, const std::string& kept) {
  const std::string from = arriving(place_.folder) + "/" + arrived.path, to = place_.folder + "/" + arrived.path;
  struct stat there {};
  if (::lstat(to.c_str(), &there) == 0) {
    const std::int64_t written_ns =
        static_cast<std::int64_t>(there.st_mtim.tv_sec) * 1'000'000'000 + there.st_mtim.tv_nsec;
    if (S_ISDIR(there.st_mode) || written_ns >= arrived.mtime_ns) return {};
    const std::string aside = kept + "/" + arrived.path;
    std::error_code error;
    std::filesystem::create_directories(parent_of(aside), error);
    if (error) return write_failure("cannot make " + parent_of(aside), error.value());
    if (::rename(to.c_str(), aside.c_str()) != 0) return write_failure("cannot move " + to, errno);
  }
  return ::rename(from.c_str(), to.c_str()) == 0 ? Status() : write_failure("cannot make " + to, errno);
}

}  // namespace sl::agent
