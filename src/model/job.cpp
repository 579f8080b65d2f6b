#include "model/job.h"

namespace sl {

std::int64_t Group::unfinished() const {
  std::int64_t count = 0;
  for (std::size_t state = 0; state < by_state.size(); ++state) {
    if (!is_finished(static_cast<JobState>(state))) count += by_state[state];
  }
  return count;
}

}  // namespace sl
