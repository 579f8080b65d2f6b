// Reads a checkpoint as one row of bytes: of each file in the list, in order, its contents and then their SHA-256. It
// can begin anywhere, so a copy that was cut continues where it was.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "agent/checkpoint_files.h"
#include "archive/digest.h"

namespace sl::agent {

// The next byte: `offset` of the file that is entry `file` of the list. At the file's end its digest comes next.
struct CheckpointPosition {
  std::size_t file = 0;
  std::int64_t offset = 0;
  friend bool operator==(const CheckpointPosition&, const CheckpointPosition&) = default;
};

// The first file at or after this entry; the number of entries if there is none.
std::size_t file_from(const CheckpointList& list, std::size_t entry);

struct OpenCheckpoint {
  Descriptor folder;
  CheckpointList list;
};

class CheckpointReader {
 public:
  CheckpointReader(std::shared_ptr<const OpenCheckpoint> checkpoint, CheckpointPosition from)
      : checkpoint_(std::move(checkpoint)), at_(from) {}

  // Where the next bytes begin. Within a digest: at its file's end.
  const CheckpointPosition& position() const { return at_; }
  // Up to about `limit` bytes, never a part of a digest; none at the end. Errors: "checkpoint-refused", if a file is not
  // what the list says: it was changed since, or cannot be read.
  Result<std::string> next(std::size_t limit);

 private:
  Status open_file();
  Status read(std::string& bytes, std::size_t limit);
  Status check_unchanged() const;
  const CheckpointEntry& entry() const { return checkpoint_->list.entries[at_.file]; }

  std::shared_ptr<const OpenCheckpoint> checkpoint_;
  CheckpointPosition at_;
  Descriptor file_;
  archive::Digest digest_;
};

}  // namespace sl::agent
