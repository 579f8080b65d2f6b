// The code of jobs as it was when they were submitted: archives in DATA/snapshots, each under its digest, and in the same
// way the diffs of changed files from their commit. The command line sends them before the job that names them, agents
// fetch the archives before the job starts.
//
// Both are kept for as long as an unfinished job names them, and after that, or another use, as long as finished jobs are
// kept (RetentionRule::age_s). Lives on the core's thread; files are read and written by the threads of History.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "controller/history.h"
#include "controller/logic.h"
#include "wire/agent_protocol.h"

namespace sl::controller {

class Snapshots {
 public:
  struct Settings {
    std::string folder;
    std::int64_t bytes_max = 0;  // of one archive
    double keep_s = 0;           // after its last use; 0: for ever
  };
  struct Stored {
    std::int64_t count = 0, bytes = 0;  // of whole archives and diffs
  };
  Snapshots(Settings settings, const Logic& logic, History& history, std::function<Instant()> clock);

  std::int64_t bytes_max() const { return settings_.bytes_max; }
  // The size of the archive or diff; nothing if it is not here as a whole. Counts as a use of it.
  std::optional<std::int64_t> use(const std::string& id) const;
  // Whether the job can have its code, and what it names as its diff is here and no larger than one may be. Errors:
  // "snapshot-missing", "bad-snapshot".
  Status use(const wire::JobSpec& spec) const;

  // A piece of an archive of `size` bytes, from `offset` on. Then how much is here, which is where to continue: several
  // may send the same at the same time, and one that dies is continued by the next. Errors: "snapshot-too-large";
  // "snapshot-offset" if what comes before it is not here; "snapshot-damaged" if the whole does not have this digest,
  // and then nothing of it is kept; "too-many-reads".
  void put(const std::string& id, std::int64_t offset, std::int64_t size, std::string bytes,
           std::function<void(Result<std::int64_t>)> then);
  // The answer, unless too much else is being read: then none, and the agent asks again.
  void read(const wire::SnapshotRead& read, std::function<void(const wire::SnapshotPiece&)> answer);
  // The diff that the snapshot names, if any. Errors: "no-diff"; "snapshot-missing" if it is not here any more.
  void read_diff(const std::optional<wire::SnapshotSpec>& snapshot, std::function<void(Result<std::string>)> then);
  void look(std::function<void(Result<Stored>)> then);

  void on_turn();  // now and then, notes what is in use and removes what is not kept any longer

 private:
  struct Piece {
    std::int64_t offset = 0, size = 0;
    std::string bytes;
    std::function<void(Result<std::int64_t>)> then;
  };
  void store_next(const std::string& id);
  std::string archive_of(const std::string& id) const { return settings_.folder + "/" + id + ".tar"; }

  Settings settings_;
  const Logic& logic_;
  History& history_;
  std::function<Instant()> clock_;
  Instant next_look_;
  std::map<std::string, std::deque<Piece>> lines_;  // by id; the first of each is being stored
  std::size_t waiting_ = 0;                         // pieces in all lines
};

}  // namespace sl::controller
