#include "model/gpu_counts.h"

#include "model/demand.h"

namespace sl {

bool is_possible_range(const JobRequest& request, int least, int most) {
  if (!request.needs_gpus()) return least == 0 && most == 0;
  if (least < 1 || least > most) return false;
  if (!request.model) return true;
  const std::vector<int>& counts = request.model->gpu_counts_allowed;
  const auto is_named = [&](int count) { return counts.empty() || std::ranges::binary_search(counts, count); };
  int of_roles_min = 0, of_roles_wanted = 0;
  for (const Role& role : roles_of(request)) {
    of_roles_min += role.gpus * role.count_min;
    of_roles_wanted += role.gpus * role.count_wanted;
  }
  const bool has_members = roles_of(request).empty() || (least >= of_roles_min && most <= of_roles_wanted);
  return is_named(least) && is_named(most) && has_members;
}

}  // namespace sl
