// Which lines of waiting jobs need to be tried. A line is closed when its first job could not be served, and stays
// closed until something has happened that could help that job: another job came before it, GPUs or other resources
// became free, or a less urgent running job may be stopped now.
#pragma once

#include <algorithm>
#include <vector>

#include "policy/rank.h"
#include "policy/waiting_lines.h"

namespace sl {

class ClosedLines {
 public:
  using Lines = WaitingLines<RankKey>;

  // ---- a pass: begin(), then jobs in order of urgency ----

  // The lines to try, none of them empty. `claim(rank)` is the rank that a running job must exceed to give way to a
  // waiting job of rank `rank`.
  template <typename Claim>
  const std::vector<std::uint32_t>& begin(Lines& lines, Claim claim) {
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
    lines.forget_changes();
    has_room_ = false;
    least_urgent_ = Rank::most_urgent();
    return open_;
  }
  // The job with this key, the first of its line, cannot be served.
  void close(std::uint32_t line, const RankKey& job) { closed_[line] = {job, true}; }
  // There is now room that did not exist when the pass began: closed lines are tried again if `join(line)` succeeds.
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
  Rank least_urgent_ = Rank::most_urgent();  // among the running jobs that may be stopped since begin()
};

}  // namespace sl
