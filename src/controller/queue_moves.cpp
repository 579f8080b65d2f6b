#include "controller/queue_moves.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

namespace sl::controller {
namespace {

Error not_in_line(JobId job) {
  return conflict("job-not-in-line", fmt::format("job {} does not stand in line", job.value))
      .hint(fmt::format("see what it does: schedulearn show {}", job.value));
}

// The members of a group that stand in line.
struct Extent {
  std::size_t first = 0, last = 0, count = 0;
  int priority = 0;
  bool are_equal = true;
  bool are_together() const { return last - first + 1 == count; }
};

}  // namespace

std::vector<Priority> with_groups_as_one(std::span<const InLine> line, JobId job, JobId other) {
  std::map<std::int64_t, Extent> groups;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (!line[i].group.valid()) continue;
    Extent& extent =
        groups.try_emplace(line[i].group.value, Extent{.first = i, .priority = line[i].priority}).first->second;
    extent.last = i;
    ++extent.count;
    extent.are_equal = extent.are_equal && line[i].priority == extent.priority;
  }
  for (const InLine& each : line) {
    const bool is_named = each.job == job || each.job == other;
    if (is_named && each.group.valid()) groups.erase(each.group.value);
  }
  std::erase_if(groups, [&](const auto& group) {
    const bool is_named = JobId(group.first) == job || JobId(group.first) == other;
    return !is_named && !(group.second.are_equal && group.second.are_together());
  });
  std::vector<Priority> entries;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const auto group = groups.find(line[i].group.value);
    if (group == groups.end())
      entries.push_back(line[i]);
    else if (group->second.first == i)
      entries.push_back({line[i].group, line[i].priority});
  }
  return entries;
}

Result<std::vector<Priority>> priorities_to_serve_before(std::span<const Priority> line, JobId job, JobId other) {
  if (job == other) return invalid("bad-priority", "a job cannot be served before itself").at("/before");
  const auto moved = std::ranges::find(line, job, &Priority::job);
  const auto target = std::ranges::find(line, other, &Priority::job);
  if (moved == line.end()) return not_in_line(job);
  if (target == line.end()) return not_in_line(other).at("/before");
  std::vector<Priority> changes;
  if (moved + 1 == target) return changes;

  // 64 bits: one more than the highest there is must be seen.
  std::int64_t next_now = target->priority, next_then = target->priority;  // of the job behind, walking to the front
  const auto raise = [&](const Priority& each, bool has_known_order) {
    // Equal priorities keep the order that they had.
    const bool stays_behind_none = has_known_order && each.priority == next_now;
    const std::int64_t least = stays_behind_none ? next_then : next_then + 1;
    const std::int64_t then = &each == &*moved ? least : std::max<std::int64_t>(each.priority, least);
    next_now = each.priority, next_then = then;
    return then;
  };
  std::int64_t highest = 0;
  const auto note = [&](const Priority& each, std::int64_t then) {
    highest = std::max(highest, then);
    if (then != each.priority) changes.push_back({each.job, static_cast<int>(then)});
  };
  note(*moved, raise(*moved, moved < target));
  bool is_next_to_moved = true;
  for (auto each = target; each != line.begin();) {
    --each;
    if (each == moved) continue;
    const bool is_before_moved = each < moved;
    note(*each, raise(*each, !is_next_to_moved || is_before_moved));
    is_next_to_moved = false;
  }
  if (highest > std::numeric_limits<int>::max())
    return conflict("highest-priority-taken", fmt::format("job {} has the highest priority that there is", other.value))
        .hint(fmt::format("schedulearn set {} --priority 0", other.value));
  return changes;
}

}  // namespace sl::controller
