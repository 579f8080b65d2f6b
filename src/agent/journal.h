// The launcher's journal: a line for each start (written by the process itself before its program runs), for each end,
// and for each attempt that need not be reported any more. A process number means something only in the boot in which
// it was recorded, so each start names its boot.
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
JournalContents read_journal(const std::string& path);
// Attempts of this boot that must not outlive their lease and have no end on record.
std::vector<Started> fenced_in(const JournalContents& journal, const std::string& boot);

class Journal {
 public:
  explicit Journal(std::string path) : path_(std::move(path)) {}
  // Replaces the file with the entries that still count, and opens it for new ones.
  void rewrite(const JournalContents& contents);
  void write_end(const LauncherState& state);
  void write_forgotten(const std::string& key);
  void sync();
  bool is_long() const { return bytes_ > rewrite_at_; }
  int descriptor() const { return file_; }  // for processes that record their own start

 private:
  void append(const std::string& line);
  std::string path_;
  int file_ = -1;
  std::size_t bytes_ = 0, rewrite_at_ = 0;
};

}  // namespace sl::agent
