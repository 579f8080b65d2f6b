// The launcher's journal: a line for each start (written by the process itself before its program runs), for each end,
// and for each attempt that need not be reported any more. A process number means something only in the boot in which
// it was recorded, so each start names its boot.
//
// On a full disk a record may be cut short or be missing: that of an end, or of a start whose process then runs no
// program. The next record would be glued to the cut one, and a launcher that starts then would take an attempt that is
// over for one that runs, in control groups that are another's by now. So no record is added to such a file, and nothing
// starts, until it has been replaced by one with all that still counts.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "agent/launcher_wire.h"

namespace sl::agent {

struct Started {
  std::string key;
  std::int64_t pid = 0;
  std::int64_t ticks = 0;  // when the process began, in kernel ticks
  std::int64_t wall_us = 0;
  std::string gpus;
  bool fenced = false;
  std::string boot;
  std::string cgroup;  // empty: none could be made
  LimitGroups limits;  // groups that limit it
};
std::string to_line(const Started& started);

// Whether what was recorded in the one boot means anything in the other: process numbers and clocks begin again with
// each boot. An empty text is an unknown boot.
inline bool is_same_boot(const std::string& recorded, const std::string& boot) {
  return recorded == boot && !boot.empty();
}

// The entries that still count, by attempt.
struct JournalContents {
  std::map<std::string, Started> started;
  std::map<std::string, LauncherState> ends;
};
// Does not count a last line that was cut short.
JournalContents read_journal(const std::string& path);
// Attempts of this boot that must not outlive their lease and have no end on record.
std::vector<Started> fenced_in(const JournalContents& journal, const std::string& boot);

class Journal {
 public:
  explicit Journal(std::string path) : path_(std::move(path)) {}
  // Begins with these entries, which replace the file.
  void begin(JournalContents contents);
  // Before each start: whether the file has all that still counts and nothing else. If not, it is replaced; false
  // (errno): it cannot be.
  bool make_whole() { return is_whole() || rewrite(); }
  int descriptor() const { return file_; }  // for processes that record their own start
  // A process has done so.
  void note_start(const Started& started);
  void write_end(const LauncherState& state);
  void write_forgotten(const std::string& key);
  void sync();
  // Replaces a file that is long or not whole.
  void tidy();

 private:
  bool is_whole() const;
  bool rewrite();
  void append(const std::string& line);
  std::string path_;
  int file_ = -1;
  JournalContents contents_;
  bool lacks_records_ = false;
  std::size_t bytes_ = 0;  // of the file, unless a process has recorded a start that note_start() does not know
  std::size_t rewrite_at_ = 0;
};

}  // namespace sl::agent
