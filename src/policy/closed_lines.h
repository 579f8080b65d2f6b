// Which lines of waiting jobs could not be served when they were last tried, and whether anything has happened since
// that could help their first job: GPUs or other resources became free, or a running job less urgent than it may be
// stopped now. A first job that nothing has helped need not be tried again. Nor, within a pass, one that is less urgent
// than another that asked for no more in vain: it could take the same GPUs and stop no more jobs.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "policy/rank.h"
#include "policy/waiting_lines.h"

namespace sl {

class ClosedLines {
 public:
  // ---- a pass: stays_closed() for every line, begin(), then jobs in order of urgency ----

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
    on_one_ = on_several_ = std::numeric_limits<int>::max();
  }
  // Whether a more urgent job has asked for no more than this in vain.
  bool is_too_much(const Shape& shape) const { return shape.gpus >= (shape.single_server ? on_one_ : on_several_); }
  // The line's first job cannot start.
  void close(std::uint32_t line, const RankKey& first, const Shape& shape) {
    if (line >= lines_.size()) lines_.resize(line + 1);
    lines_[line] = {first, pass_};
    if (!shape.is_plain()) return;
    on_one_ = std::min(on_one_, shape.gpus);
    if (!shape.single_server || shape.gpus == 1) on_several_ = std::min(on_several_, shape.gpus);
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
  std::uint64_t pass_ = 1;
  bool has_room_ = true;
  Rank least_urgent_ = Rank::most_urgent();  // of the running jobs that may be stopped since begin()
  int on_one_ = 0, on_several_ = 0;          // fewest GPUs that could not be had in this pass: on one server, on any
};

}  // namespace sl
