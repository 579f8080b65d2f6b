#include "agent/checkpoint_reader.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace sl::agent {

std::size_t file_from(const CheckpointList& list, std::size_t entry) {
  while (entry < list.entries.size() && list.entries[entry].kind != "file") ++entry;
  return std::min(entry, list.entries.size());
}

Result<std::string> CheckpointReader::next(std::size_t limit) {
  std::string bytes;
  while (bytes.size() < limit) {
    at_.file = file_from(checkpoint_->list, at_.file);
    if (at_.file == checkpoint_->list.entries.size()) break;
    if (!file_.valid()) {
      if (Status opened = open_file(); !opened.ok()) return opened.error();
    }
    if (at_.offset < entry().size) {
      if (Status done = read(bytes, limit - bytes.size()); !done.ok()) return done.error();
    }
    if (at_.offset < entry().size) break;
    if (Status same = check_unchanged(); !same.ok()) return same.error();
    bytes += digest_.take();
    file_ = Descriptor();
    at_ = {at_.file + 1, 0};
  }
  return bytes;
}

Status CheckpointReader::open_file() {
  file_ = Descriptor(open_beneath(checkpoint_->folder.get(), entry().path, O_RDONLY | O_NONBLOCK));
  if (!file_.valid())
    return invalid("checkpoint-refused", "cannot open its file " + entry().path + ": " + std::strerror(errno));
  if (Status same = check_unchanged(); !same.ok()) return same;
  digest_ = archive::Digest();
  if (at_.offset >= 0 && at_.offset <= entry().size && archive::add_file(digest_, file_.get(), at_.offset)) return {};
  return invalid("checkpoint-refused", "cannot read its file " + entry().path);
}

Status CheckpointReader::read(std::string& bytes, std::size_t limit) {
  const std::size_t before = bytes.size();
  const auto want = std::min(limit, static_cast<std::size_t>(entry().size - at_.offset));
  bytes.resize(before + want);
  const ssize_t n = ::pread(file_.get(), bytes.data() + before, want, at_.offset);
  if (n <= 0)
    return invalid("checkpoint-refused", "cannot read its file " + entry().path + ": " +
                                             (n < 0 ? std::strerror(errno) : "it has become shorter"));
  bytes.resize(before + static_cast<std::size_t>(n));
  digest_.add(std::string_view(bytes).substr(before));
  at_.offset += n;
  return {};
}

// A file that somebody writes while it is copied would arrive as a mixture of two states.
Status CheckpointReader::check_unchanged() const {
  struct stat facts {};
  const bool is_same =
      ::fstat(file_.get(), &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size == entry().size &&
      static_cast<std::int64_t>(facts.st_mtim.tv_sec) * 1'000'000'000 + facts.st_mtim.tv_nsec == entry().mtime_ns;
  if (is_same) return {};
  return invalid("checkpoint-refused", "its file " + entry().path + " changes while it is copied");
}

}  // namespace sl::agent
