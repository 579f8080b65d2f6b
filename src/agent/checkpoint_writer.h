// Writes a checkpoint that arrives as a row of bytes (checkpoint_reader.h) to its place.
//
// It grows in a folder beside that place, ".NAME.arriving", with the list of what it will be in ".NAME.arriving.list".
// When all files are there, have the right digests and are on the disk, the folder takes its place as a whole, and is
// never mixed with what was there. What becomes of that depends on whose it is (CheckpointHolder).
//
// If it is cut off, the next one with the same list continues, unless the machine was started again in the meantime: of
// files written then, it is not known what has reached the disk.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "agent/checkpoint_reader.h"

namespace sl::agent {

// Whose files are where a copy goes.
enum class CheckpointHolder : std::uint8_t {
  own,         // an older copy of the same job, in a folder that is named after it: it is removed
  had_before,  // the job had the folder here before, and no other job is known to: kept in NAME.older-of-job-ID until
               // the next copy
  unknown,     // the job never had it here: kept in NAME.before-job-ID
  several,     // other jobs keep theirs in it too: of each file the newest stays, as if the servers shared the folder;
               // what is replaced is kept in NAME.older-of-job-ID until the next copy
};

struct CheckpointPlace {
  std::string folder;                        // absolute
  std::int64_t job = 0;                      // names what is kept
  std::string boot;                          // identifies this boot of the machine
  std::function<CheckpointHolder()> holder;  // asked at the end, on whichever thread; empty: own
};

class CheckpointWriter {
 public:
  // Errors of all functions: "server_setup" if this server's disk is to blame, "checkpoint-refused" if the place is.
  static Result<std::unique_ptr<CheckpointWriter>> open(CheckpointPlace place, CheckpointList list);
  // Removes what an earlier one has left. Missing is fine.
  static void discard(const std::string& folder);
  // The same in two steps: the first at once, the second, on what it returns, may take long.
  static std::string set_aside(const std::string& folder);

  // Of the byte that must come next. A digest that has come in part comes again as a whole.
  CheckpointPosition resume_at() {
    told_digest_.clear();
    return at_;
  }
  std::int64_t bytes_done() const { return bytes_done_; }
  bool is_complete() const { return at_.file >= list_.entries.size(); }
  // In addition "damaged": a file does not have the digest that came with it. It must come again: see resume_at().
  Status write(std::string_view bytes);
  // Once it is complete: the folder takes its place.
  Status finish();

 private:
  CheckpointWriter(CheckpointPlace place, CheckpointList list) : place_(std::move(place)), list_(std::move(list)) {}
  Status begin();
  bool resume();
  Status check_place() const;
  Status check_room() const;
  Status make_folders();
  Status open_file();
  Status end_file();
  void go_to_file(std::size_t entry);
  Status settle_entries();
  Status take_place();
  Status exchange();
  Status put_aside(const std::string& kept);
  Status join();
  Status join_entry(const CheckpointEntry& arrived, const std::string& kept);
  std::string kept_as_older() const { return place_.folder + ".older-of-job-" + std::to_string(place_.job); }
  std::string kept_as_found() const;
  const CheckpointEntry& entry() const { return list_.entries[at_.file]; }

  CheckpointPlace place_;
  CheckpointList list_;
  Descriptor folder_;  // the arriving one
  CheckpointPosition at_;
  std::int64_t bytes_done_ = 0;  // of all files
  Descriptor file_;
  std::int64_t flushed_ = 0;  // of the file
  archive::Digest digest_;
  std::string told_digest_;  // the part that has come
};

}  // namespace sl::agent
