#include "agent/code_fetches.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include "agent/clocks.h"
#include "archive/code_archive.h"
#include "archive/digest.h"
#include "wire/base64.h"

namespace sl::agent {
namespace {

namespace fs = std::filesystem;

constexpr Duration piece_patience = Duration::whole_seconds(20);
constexpr int damages_max = 3;
constexpr auto archives_kept = std::chrono::hours(24);

std::int64_t size_of(const std::string& path) {
  std::error_code failed;
  const auto size = fs::file_size(path, failed);
  return failed ? 0 : static_cast<std::int64_t>(size);
}

Status append(const std::string& path, std::string_view bytes) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
  errno = fd < 0 ? errno : ENOSPC;  // of a write that ends early
  const bool is_written = fd >= 0 && ::write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
  const int error = errno;
  if (fd >= 0) ::close(fd);
  if (is_written) return {};
  ::unlink(path.c_str());
  return unavailable("server_setup", "cannot write its code to " + path + ": " + std::strerror(error));
}

}  // namespace

CodeFetches::CodeFetches(net::EventLoop& loop, std::string data_dir, Ports ports)
    : loop_(loop), dir_(std::move(data_dir) + "/snapshots"), ports_(std::move(ports)) {
  ::mkdir(dir_.c_str(), 0700);
}

void CodeFetches::find(const std::string& key, const std::string& id, const std::string& folder) {
  remove_old();
  wanted_[key] = {id, folder};
  std::error_code failed;
  const std::string archive = archive_of(id);
  if (fs::is_directory(folder, failed)) {
    loop_.post([this, alive = std::weak_ptr(alive_), key] {
      if (!alive.expired() && wanted_.erase(key) > 0) ports_.found(key, {});
    });
  } else if (fs::exists(archive, failed)) {
    fs::last_write_time(archive, fs::file_time_type::clock::now(), failed);
    unpack(id, folder);
  } else if (!asked_.contains(id) && !checked_.contains(id)) {
    ask(id);
  }
}

void CodeFetches::end(const std::string& key) {
  wanted_.erase(key);
  std::erase_if(asked_, [&](const auto& item) { return !is_wanted(item.first); });
}

bool CodeFetches::is_wanted(const std::string& id) const {
  for (const auto& [key, wanted] : wanted_) {
    if (wanted.id == id) return true;
  }
  return false;
}

void CodeFetches::ask(const std::string& id) {
  asked_[id].again = boot_now() + piece_patience;
  ports_.ask({id, size_of(part_of(id))});
}

void CodeFetches::tick(Instant now) {
  std::vector<std::string> due;
  for (const auto& [id, asked] : asked_) {
    if (now >= asked.again) due.push_back(id);
  }
  for (const std::string& id : due) ask(id);
}

// A piece that was asked for in an earlier session, or twice, does not fit.
void CodeFetches::on_piece(const wire::SnapshotPiece& piece) {
  const auto is_its = [&](const Wanted& wanted) { return wanted.id == piece.id; };
  if (!asked_.contains(piece.id)) return;
  if (piece.error) {
    asked_.erase(piece.id);
    return end_all(is_its, invalid("setup", "its code cannot be had: " + *piece.error));
  }
  const std::int64_t size = size_of(part_of(piece.id));
  const std::string bytes = wire::decode_base64(piece.data).value_or("");
  if (piece.offset != size || (bytes.empty() && size < piece.size)) return;
  if (const Status written = append(part_of(piece.id), bytes); !written.ok()) {
    asked_.erase(piece.id);
    return end_all(is_its, written);
  }
  size + static_cast<std::int64_t>(bytes.size()) < piece.size ? ask(piece.id) : check(piece.id);
}

void CodeFetches::check(const std::string& id) {
  asked_[id].again = Instant::never();
  if (!checked_.insert(id).second) return;
  threads_.run([this, alive = std::weak_ptr(alive_), id, part = part_of(id)] {
    const auto digest = archive::digest_of_file(part);
    loop_.post([this, alive, id, digest] {
      if (!alive.expired()) on_checked(id, digest);
    });
  });
}

void CodeFetches::on_checked(const std::string& id, const Result<std::string>& digest) {
  checked_.erase(id);
  const auto is_its = [&](const Wanted& wanted) { return wanted.id == id; };
  if (!digest.ok() || *digest != id) {
    ::unlink(part_of(id).c_str());
    const int damaged = ++asked_[id].damaged;
    if (is_wanted(id) && damaged < damages_max) return ask(id);
    asked_.erase(id);
    return end_all(is_its, unavailable("server_setup", "its code was damaged on the way, several times"));
  }
  asked_.erase(id);
  if (::rename(part_of(id).c_str(), archive_of(id).c_str()) != 0)
    return end_all(is_its, unavailable("server_setup", "cannot keep its code in " + dir_));
  std::vector<std::string> folders;
  for (const auto& [key, wanted] : wanted_) {
    if (wanted.id == id) folders.push_back(wanted.folder);
  }
  for (const std::string& folder : folders) unpack(id, folder);
}

void CodeFetches::unpack(const std::string& id, const std::string& folder) {
  if (!folders_.insert(folder).second) return;
  threads_.run([this, alive = std::weak_ptr(alive_), archive = archive_of(id), folder] {
    const Status done = archive::unpack(archive, folder);
    loop_.post([this, alive, folder, done] {
      if (alive.expired()) return;
      folders_.erase(folder);
      end_all([&](const Wanted& wanted) { return wanted.folder == folder; }, done);
    });
  });
}

void CodeFetches::end_all(const std::function<bool(const Wanted&)>& which, const Status& found) {
  std::vector<std::string> ended;
  for (const auto& [key, wanted] : wanted_) {
    if (which(wanted)) ended.push_back(key);
  }
  for (const std::string& key : ended) wanted_.erase(key);
  for (const std::string& key : ended) ports_.found(key, found);
}

void CodeFetches::remove_old() const {
  std::error_code failed;
  const auto oldest = fs::file_time_type::clock::now() - archives_kept;
  std::vector<fs::path> old;
  for (fs::directory_iterator at(dir_, failed), last; !failed && at != last; at.increment(failed)) {
    std::error_code gone;
    if (at->last_write_time(gone) < oldest && !gone) old.push_back(at->path());
  }
  for (const fs::path& path : old) fs::remove(path, failed);
}

}  // namespace sl::agent
