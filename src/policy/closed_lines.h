// Which lines of waiting jobs need to be tried. A line is closed when its first job could not be served, and stays so
// until something has happened that could help that job: another came before it, GPUs or other resources became free,
// or a running job less urgent than it may be stopped now. Within a pass a job is not tried either when it is less
// urgent than another that asked for no more in vain: it could take the same GPUs and stop no more jobs.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "policy/rank.h"
#include "policy/waiting_lines.h"

namespace sl {

class ClosedLines {
 public:
  using Lines = WaitingLines<RankKey>;

  // ---- a pass: begin(), then jobs in order of urgency ----

  // The lines to try. `claim(rank)`: what a running job's rank must exceed to give way to a waiting one of this rank.
  // `is_hopeless(line, claim)`: a look at the line's first job tells that it cannot be served.
  template <typename Claim, typename IsHopeless>
  const std::vector<std::uint32_t>& begin(Lines& lines, Claim claim, IsHopeless is_hopeless) {
    open_.clear();
    closed_.resize(lines.lines());
    if (has_room_) {
      for (std::uint32_t line = 0; line < lines.lines(); ++line) open(lines, line);
    } else {
      for (const std::uint32_t line : lines.changed()) {
        const Closed& at = closed_[line];
        if (!at.is_closed || lines[line].empty() || at.first != lines[line].begin()->key) open(lines, line);
      }
      for (std::uint32_t line = 0; line < lines.lines() && least_urgent_ != Rank::most_urgent(); ++line) {
        const Closed& at = closed_[line];
        if (at.is_closed && claim(at.first.rank) < least_urgent_) open(lines, line);
      }
    }
    std::erase_if(open_, [&](std::uint32_t line) {
      Closed& at = closed_[line];
      at.first = lines[line].begin()->key;
      return at.is_closed = is_hopeless(line, claim(at.first.rank));
    });
    lines.forget_changes();
    has_room_ = false;
    least_urgent_ = Rank::most_urgent();
    on_one_ = on_several_ = std::numeric_limits<int>::max();
    return open_;
  }
  // Whether a more urgent job has asked for no more than this in vain.
  bool is_too_much(const Shape& shape) const { return shape.gpus >= (shape.single_server ? on_one_ : on_several_); }
  // The job of this line with this key cannot be served.
  void close(std::uint32_t line, const RankKey& job, const Shape& shape) {
    closed_[line] = {job, true};
    if (!shape.is_plain()) return;
    on_one_ = std::min(on_one_, shape.gpus);
    if (!shape.single_server || shape.gpus == 1) on_several_ = std::min(on_several_, shape.gpus);
  }
  // There is room now that was not there when the pass began: closed lines are tried as well, where `join(line)` can.
  template <typename Join>
  void reopen(const Lines& lines, Join join) {
    for (std::uint32_t line = 0; line < closed_.size(); ++line) {
      if (closed_[line].is_closed && !lines[line].empty() && join(line)) closed_[line].is_closed = false;
    }
  }

  // ---- news ----
  void has_room() { has_room_ = true; }
  void may_stop(const Rank& rank) { least_urgent_ = std::max(least_urgent_, rank); }

 private:
  struct Closed {
    RankKey first;
    bool is_closed = false;
  };
  void open(const Lines& lines, std::uint32_t line) {
    closed_[line].is_closed = false;
    if (!lines[line].empty()) open_.push_back(line);
  }

  std::vector<Closed> closed_;  // by line
  std::vector<std::uint32_t> open_;
  bool has_room_ = true;
  Rank least_urgent_ = Rank::most_urgent();  // of the running jobs that may be stopped since begin()
  int on_one_ = 0, on_several_ = 0;          // fewest GPUs that could not be had in this pass: on one server, on any
};

}  // namespace sl
