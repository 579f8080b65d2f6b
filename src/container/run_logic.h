// What the program that runs a container (run.h) decides, as a state machine without process, file, socket or clock. It
// says which step is next and hears what came of it; in the end it knows how the attempt has ended.
//
//   prepare, create, start   until the engine has started the container's first process, which waits
//   inspect, look, begin     the job begins only once that process is seen to carry the attempt's mark: from then on
//                            whoever ends or freezes the attempt reaches it
//   wait, report, remove     the end is known before anything is asked of the engine again
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "container/engine.h"
#include "container/order.h"

namespace sl::container {

enum class Step {
  prepare,
  create,
  inspect_taken,  // the container that has our name
  remove_taken,   // it is ours: an earlier request to create it was carried out and its answer lost
  start,
  inspect_started,
  look,   // whether the first process, `pid()`, carries the mark
  begin,  // the first process may start the job
  wait,   // for the end of the first process
  inspect_ended,
  report,
  remove,  // what is not removed now, sweeps do
  over
};

enum class Sight { marked, unmarked, ended };

class RunLogic {
 public:
  explicit RunLogic(Order order) : order_(std::move(order)) {}

  Step next() const { return step_; }
  std::int64_t pid() const { return pid_; }  // of the first process; 0: it has ended

  // What came of next():
  void on_done(const Status& done);                              // prepare, create, remove…, start, begin, report
  void on_inspected(const Result<std::optional<State>>& state);  // inspect…
  void on_look(Sight sight);                                     // look
  void on_ended(const std::string& end);                         // wait; the text that the first process has written

  // The attempt is asked to end. If its job has not begun, it does not begin any more; later the signal is for the job.
  bool has_begun() const { return step_ >= Step::wait; }
  void on_signal(int number);

  // From report on.
  const Outcome& outcome() const { return outcome_; }

 private:
  void fail(const Error& error);
  void end_with(Outcome outcome);

  Order order_;
  Step step_ = Step::prepare;
  bool is_asked_ = false, is_created_ = false, has_removed_taken_ = false;
  bool may_have_begun_ = false;  // the job: the first process was told that it may
  std::int64_t pid_ = 0;
  Outcome outcome_;
};

// When the agent looks for containers that are left in its engine.
class Sweeps {
 public:
  // One has certainly been left, or may have been: what created it may have died before the engine, which is slow, has
  // carried its request out, so the agent looks at once and once more.
  void ask() { next_ = {}, is_asked_ = true; }
  bool is_due(Instant now) const { return !is_sweeping_ && now >= next_; }
  void begin(Instant now) {
    next_ = now + (is_asked_ ? again_after : interval);
    is_sweeping_ = true, is_asked_ = false;
  }
  // All that was left is gone; or the engine does not answer, or has refused.
  void on_done(bool all_gone, Instant now) {
    is_sweeping_ = false;
    if (!all_gone) next_ = std::min(next_, now + again_after);
  }

 private:
  static constexpr Duration interval = Duration::whole_seconds(600), again_after = Duration::whole_seconds(10);
  bool is_sweeping_ = false, is_asked_ = false;
  Instant next_;
};

}  // namespace sl::container
