// An attempt on several servers as one: it starts on all of them or on none, runs once all its parts run, and ends when
// all have ended. One part that does not succeed ends the others.
//
// Kept in memory only. After a restart of the controller the agents report their parts again: they keep the end of each
// until the end of the attempt is durable.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "wire/agent_protocol.h"

namespace sl::controller {

class Gang {
 public:
  struct Part {
    int port = 0;  // once it is prepared
    bool is_prepared = false, has_started = false;
    bool is_missing = false;  // its agent does not have it, and was asked to begin it
    std::optional<wire::AttemptReport> end;
  };

  explicit Gang(std::size_t parts) : parts_(parts) {}

  // What the agent of a part tells.
  void on_report(int rank, const wire::AttemptReport& report);
  // Nothing runs of this part, and how it ended cannot be known.
  void lose(int rank);
  // The agent of this part does not have it, and no other part is known to have begun.
  void miss(int rank) { parts_[static_cast<std::size_t>(rank)].is_missing = true; }
  // The session of its agent is over, and with it what was only prepared.
  void unprepare(int rank) { parts_[static_cast<std::size_t>(rank)].is_prepared = false; }
  // From now on a part that its agent does not have is lost: it may have run.
  void launch() { is_launched_ = true; }
  // Broken, and this is the first call: the others are to be told.
  bool take_break() { return is_broken() && !std::exchange(is_told_, true); }

  bool has_begun() const;             // a part has been launched, as far as can be known
  bool is_ready() const;              // all parts are prepared, and none has begun
  bool has_started() const;           // all parts
  bool has_told_end(int rank) const;  // the end of this part was reported, not assumed
  bool has_ended() const;             // all parts
  // The others must end: a part has failed or is lost, or it has not begun and cannot follow those that began under a
  // controller that is gone.
  bool is_broken() const;
  // The part whose end says most about why the attempt ended; among equals the first. None: all succeeded, so far.
  std::optional<int> rank_of_failure() const;
  // Of an attempt that has ended: the end of the part that ended it; if all succeeded, that of the first.
  const wire::AttemptReport& outcome() const;
  const std::vector<Part>& parts() const { return parts_; }

 private:
  std::vector<Part> parts_;
  bool is_launched_ = false, is_told_ = false;
};

}  // namespace sl::controller
