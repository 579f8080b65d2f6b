// How much an ended attempt has left in its checkpoint folder. That may be on a file system of others, which is slow or
// hangs, so it is measured on a thread of its own, and the end of the attempt is told afterwards; but not long afterwards.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "agent/attempt_files.h"
#include "agent/launcher_wire.h"
#include "base/time.h"
#include "net/event_loop.h"

namespace sl::agent {

class CheckpointMeasures {
 public:
  using Left = std::optional<AttemptFiles::Checkpoint>;  // none: the folder is empty, or measuring it took too long
  using Tell = std::function<void(const LauncherState& end, const Left& left)>;

  // `tell` gets each end that was held back, once.
  CheckpointMeasures(net::EventLoop& loop, Tell tell);
  ~CheckpointMeasures();  // does not wait for the thread
  CheckpointMeasures(const CheckpointMeasures&) = delete;
  CheckpointMeasures& operator=(const CheckpointMeasures&) = delete;

  // Holds back this end until `measure` has been called, for at most `patience`. False: an earlier one has not come back,
  // so this one is not measured.
  bool hold(const LauncherState& end, AttemptFiles::MeasureCheckpoint measure, Instant now);
  // Tells the ends that have waited too long; a few times a second.
  void tick(Instant now);
  // The launcher has gone; the next one tells the same ends again.
  void forget_all() { held_.clear(); }

 private:
  static constexpr Duration patience = Duration::whole_seconds(5);
  struct Shared;
  struct Held {
    LauncherState end;
    Instant until;
  };
  void tell(std::int64_t number, const Left& left);

  net::EventLoop& loop_;
  Tell tell_;
  std::shared_ptr<Shared> shared_;     // with the thread, which may outlive us
  std::map<std::int64_t, Held> held_;  // by number, in the order in which they are measured
  std::int64_t last_number_ = 0;
  bool hangs_ = false;  // the thread did not answer in time, and has not answered since
};

}  // namespace sl::agent
