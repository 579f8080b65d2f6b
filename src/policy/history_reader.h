// Reads each finished job of a snapshot once. The core drops the oldest from time to time; then all that are left are
// read again, so that the result depends on the current history and nothing else.
#pragma once

#include <cstddef>
#include <span>

#include "policy/snapshot.h"

namespace sl {

class HistoryReader {
 public:
  template <typename Restart, typename Add>  // restart(): forget everything; add(finished_job), oldest first
  void read(std::span<const FinishedJob> history, Restart restart, Add add) {
    const bool only_grown =
        seen_ <= history.size() && (seen_ == 0 || (history[0].job == first_ && history[seen_ - 1].job == last_));
    if (!only_grown) {
      restart();
      seen_ = 0;
    }
    while (seen_ < history.size()) add(history[seen_++]);
    if (seen_ == 0) return;
    first_ = history[0].job;
    last_ = history[seen_ - 1].job;
  }
  void reset() { seen_ = 0; }

 private:
  std::size_t seen_ = 0;
  JobId first_, last_;  // of the history at the last reading: tell whether it has only grown
};

}  // namespace sl
