// How long a simulation waits for a policy while nothing runs and no event is to come: the policy may have its reasons,
// but not for ever, nor for jobs that these servers cannot run.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace sl::sim {

class Patience {
 public:
  explicit Patience(std::int64_t wakes_most) : wakes_most_(wakes_most) {}

  void restart() { wakes_ = 0; }
  // The policy is to be asked once more. `all_up`: no server is lost. Jobs may need one that is, so the time counts from
  // when all are up; that they come and go afterwards changes nothing. `none_waits`: no job that could run now.
  bool is_over(Instant now, bool all_up, bool none_waits) {
    if (++wakes_ == 1) since_ = now, had_all_servers_ = false;
    if (all_up && !had_all_servers_) since_ = now, had_all_servers_ = true;
    const bool no_use = wakes_ % looked_at_every == 0 && all_up && none_waits;
    return no_use || (had_all_servers_ && now - since_ >= most) || wakes_ >= wakes_most_;
  }
  Duration waited(Instant now) const { return now - since_; }

 private:
  static constexpr Duration most = Duration::whole_seconds(30 * 86'400);
  static constexpr std::int64_t looked_at_every = 10'000;
  std::int64_t wakes_most_;
  std::int64_t wakes_ = 0;        // in a row
  bool had_all_servers_ = false;  // at one of them
  Instant since_;
};

}  // namespace sl::sim
