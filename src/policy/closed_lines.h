// Which lines of waiting jobs could not be served when they were last tried, and whether anything has happened since
// that could help their first job: GPUs or other resources became free, or a running job less urgent than it may be
// stopped now. A first job that nothing has helped need not be tried again.
#pragma once

#include <vector>

#include "policy/rank.h"

namespace sl {

class ClosedLines {
 public:
  // ---- a pass over all lines: stays_closed() for each, begin(), close() for those that were tried in vain ----
  // Whether the line's first job, which has this key, still cannot start. `claim`: what a running job's rank must
  // exceed to give way to it.
  bool stays_closed(std::uint32_t line, const RankKey& first, const Rank& claim) {
    if (has_room_ || line >= lines_.size() || claim < least_urgent_) return false;
    Closed& closed = lines_[line];
    if (closed.pass != pass_ || closed.first != first) return false;
    closed.pass = pass_ + 1;
    return true;
  }
  // All news so far are being tried.
  void begin() {
    ++pass_;
    has_room_ = false;
    least_urgent_ = Rank::most_urgent();
  }
  void close(std::uint32_t line, const RankKey& first) {
    if (line >= lines_.size()) lines_.resize(line + 1);
    lines_[line] = {first, pass_};
  }

  // ---- news ----
  void has_room() { has_room_ = true; }
  void may_stop(const Rank& rank) { least_urgent_ = std::max(least_urgent_, rank); }
  void open_all() { lines_.clear(); }

 private:
  struct Closed {
    RankKey first;
    std::uint64_t pass = 0;  // the last in which it was found closed
  };
  std::vector<Closed> lines_;
  std::uint64_t pass_ = 0;
  bool has_room_ = true;
  Rank least_urgent_ = Rank::most_urgent();  // of the running jobs that may be stopped since begin()
};

}  // namespace sl
