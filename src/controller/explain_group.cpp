#include "controller/explain_group.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

namespace sl::controller {
namespace {

// "1 runs", "3 run"
std::string counted(std::int64_t members, const char* one, const char* several) {
  return fmt::format("{} {}", members, members == 1 ? one : several);
}

}  // namespace

std::string max_running_text(const Group& group) {
  const std::int64_t idle = group.in(JobState::pending) + group.in(JobState::held), run = group.unfinished() - idle;
  const std::string running = run == 1 ? "1 of its members runs, " : fmt::format("{} of its members run, ", run);
  return running + (run == group.max_running ? "as many as may at once (max_running)"
                                             : fmt::format("and {} may at once (max_running)", group.max_running));
}

std::optional<std::string> busy_group_text(const Core& core, const Job& group) {
  const ReasonCode reason = core.explain(core.find(group.request.id));
  const bool are_to_come = reason == ReasonCode::max_running;
  if ((reason != ReasonCode::none && !are_to_come) || core.waiting_member(group).valid()) return std::nullopt;
  std::int64_t held = 0, again = 0;
  JobId first_held;
  for (const JobId id : core.unfinished_members(group.request.id)) {
    const Job& member = core.job(core.find(id));
    if (member.on_hold && ++held == 1) first_held = id;
    again += !member.on_hold && member.state == JobState::held;
  }
  const std::int64_t id = group.request.id.value, run = group.group->unfinished() - held - again;
  if (held + again == 0 && are_to_come) return std::nullopt;
  if (held + again == 0) return fmt::format("all members of group {} that have not ended run", id);
  std::vector<std::string> parts;
  if (run > 0) parts.push_back(counted(run, "runs", "run"));
  if (again > 0) parts.push_back(counted(again, "waits for another attempt", "wait for another attempt"));
  if (held > 0)
    parts.push_back(counted(held, "is held by its user", "are held by their user") +
                    fmt::format(" (schedulearn resume {})", first_held.value));
  std::string text = fmt::format("of the members of group {} that have not ended, {}", id, fmt::join(parts, ", "));
  if (are_to_come)
    text += fmt::format("; {} more wait: at most {} may have begun and not ended (max_running)",
                        group.group->to_come.count(), group.group->max_running);
  return text;
}

}  // namespace sl::controller
