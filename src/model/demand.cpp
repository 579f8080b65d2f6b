#include "model/demand.h"

namespace sl {
namespace {

// With `n` members spread evenly over `whole` ranks: how many of them are placed with ranks below `rank`.
int members_below(int rank, int n, int whole) {
  return static_cast<int>((static_cast<std::int64_t>(rank) * n + whole - 1) / whole);
}

}  // namespace

std::vector<int> member_counts(std::span<const Role> roles, int gpus) {
  int least = 0, most = 0;
  for (const Role& role : roles) {
    least += role.gpus * role.count_min;
    most += role.gpus * std::max(role.count_min, role.count_wanted);
  }
  const int beyond = std::clamp(gpus - least, 0, most - least);
  std::vector<int> counts;
  int left = gpus - least;
  for (const Role& role : roles) {
    const int more = std::max(0, role.count_wanted - role.count_min);
    int added = role.gpus > 0 ? std::clamp(left, 0, more) : more;
    if (role.gpus == 0 && most > least) added = more * beyond / (most - least);
    counts.push_back(role.count_min + added);
    left -= role.gpus * added;
  }
  for (std::size_t i = roles.size(); i-- > 0 && left != 0;) {
    if (roles[i].gpus == 0) continue;
    const int changed = std::max(-counts[i], left);
    counts[i] += changed;
    left -= changed;
  }
  return counts;
}

ResourceVector Demand::on(const Allocation& gpus, ServerIndex server) const {
  ResourceVector there;
  for_each_share(gpus, *this, [&](const ServerGpus& part, const ResourceVector& share) {
    if (part.server == server) there = share;
  });
  return there;
}

ResourceVector Demand::of_members(int first, int count, int whole) const {
  const std::span<const Role> roles = roles_of(*request_);
  const std::vector<int> counts = member_counts(roles, whole);
  const int end = first + count;
  ResourceVector sum;
  int rank = 0;  // of the next member with a GPU
  for (std::size_t i = 0; i < roles.size(); ++i) {
    int here = members_below(end, counts[i], whole) - members_below(first, counts[i], whole);
    if (roles[i].gpus > 0) {
      here = std::max(0, std::min(end, rank + counts[i]) - std::max(first, rank));
      rank += counts[i];
    }
    sum += roles[i].demand * here;
  }
  return sum;
}

}  // namespace sl
