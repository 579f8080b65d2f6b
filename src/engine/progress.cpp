#include "engine/progress.h"

#include <algorithm>

namespace sl {

std::vector<JobId> Progress::stuck() const {
  std::vector<JobId> stuck;
  for (const auto& [job, interrupted] : jobs_) {
    if (interrupted.era == era_ && interrupted.fruitless >= fruitless_most_ / 2) stuck.emplace_back(job);
  }
  std::sort(stuck.begin(), stuck.end());
  return stuck;
}

}  // namespace sl
