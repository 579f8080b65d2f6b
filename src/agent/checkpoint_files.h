// A checkpoint folder as it goes from server to server: the list of what is in it, and how its files are opened.
//
// Whoever names a path, here or on the other server, does not get out of the folder: files are opened beneath it, no
// link is ever followed, and of other things (devices, fifos, sockets) nothing is touched. Links in the folder are
// copied as links.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <boost/describe.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace sl::agent {

class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }

 private:
  int fd_;
};

struct CheckpointEntry {
  std::string kind;  // "file", "folder", "link"
  std::string path;  // in the folder: "step-500/model.pt"; percent-encoded in JSON, for it need not be UTF-8
  std::int64_t size = 0;
  std::int64_t mtime_ns = 0;
  std::int64_t mode = 0;  // permissions only
  std::string target;     // of a link; likewise encoded
  friend bool operator==(const CheckpointEntry&, const CheckpointEntry&) = default;
};
BOOST_DESCRIBE_STRUCT(CheckpointEntry, (), (kind, path, size, mtime_ns, mode, target))

// Folders stand before what is in them, names of one folder in order: the same contents give the same list.
struct CheckpointList {
  std::int64_t mode = 0;  // of the folder itself
  std::vector<CheckpointEntry> entries;
  std::int64_t bytes() const;
  friend bool operator==(const CheckpointList&, const CheckpointList&) = default;
};
BOOST_DESCRIBE_STRUCT(CheckpointList, (), (mode, entries))

std::string to_text(const CheckpointList& list);
// Also of a list that was made to harm: paths that leave the folder, files in what is no folder, names that come twice,
// sizes that no file has are refused ("bad-list").
Result<CheckpointList> parse_list(std::string_view text);

// A file with this prefix in the folder tells that two servers see the same one; it belongs to no checkpoint.
inline constexpr std::string_view shared_prefix = ".schedulearn-shared-";

// The folder itself may be no link. Errors: "checkpoint-missing", "checkpoint-refused".
Result<Descriptor> open_checkpoint(const std::string& path);
// Errors: "checkpoint-refused", when it cannot be read, has too many entries or says that it is larger than its disk.
// `is_shared`: other jobs may have named the folder too; their own folders in it are left out.
Result<CheckpointList> list_checkpoint(int folder, bool is_shared = false);

// A descriptor, or -1 and errno. Fails where `path` or a folder in it is a link, or leads out of `folder`.
int open_beneath(int folder, const std::string& path, int flags, mode_t mode = 0);
// The same for kernels without openat2.
int open_step_by_step(int folder, const std::string& path, int flags, mode_t mode = 0);

}  // namespace sl::agent
