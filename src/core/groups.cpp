#include "core/groups.h"

#include <algorithm>

namespace sl {

bool Groups::wants_more(const Job& group, Instant now) const {
  const Group& members = *group.group;
  if (members.to_come.empty() || group.on_hold || !gate_.is_ready(group.request, now)) return false;
  if (members.max_running > 0 && members.unfinished() >= members.max_running) return false;
  return members.in(JobState::pending) <= gate_.at_once(group.request);
}

void Groups::bring_up(Instant now) {
  std::erase_if(jobs_.groups(), [&](const Jobs::OpenGroup& open) {
    const JobIndex group = jobs_.find(open.id);
    const bool is_open = group.valid() && !is_finished(jobs_[group].state);
    while (is_open && wants_more(jobs_[group], now)) bring_up(group, jobs_[group].group->to_come.first());
    return !is_open || jobs_[group].group->to_come.empty();
  });
}

std::int64_t Groups::members_to_come(bool held) const {
  std::int64_t members = 0;
  for (const Jobs::OpenGroup& open : jobs_.groups()) {
    const JobIndex group = jobs_.find(open.id);
    const bool is_open = group.valid() && !is_finished(jobs_[group].state);
    if (is_open && jobs_[group].on_hold == held) members += jobs_[group].group->to_come.count();
  }
  return members;
}

JobIndex Groups::bring_up(JobIndex group, std::int64_t place) {
  jobs_[group].group->to_come.remove(place);
  JobRequest request = jobs_[group].request;
  request.member_of = request.id;
  request.id = jobs_[group].group->member(place);
  request.prerequisites.reset();  // they are the group's
  const JobIndex member = jobs_.add(std::move(request));
  if (member.valid()) lifecycle_.submit(member, false);  // else a damaged database has a job of that number
  return member;
}

JobIndex Groups::bring_up_member(JobId member) {
  const JobIndex group = jobs_.group_of_member_to_come(member);
  return group.valid() ? bring_up(group, member.value - jobs_[group].group->first_member.value) : group;
}

std::vector<JobId> Groups::unfinished_members(JobId group) const {
  std::vector<JobId> members;
  for (const Job& job : jobs_.table()) {
    if (job.request.member_of == group && job.request.id.valid() && !is_finished(job.state))
      members.push_back(job.request.id);
  }
  std::ranges::sort(members);
  return members;
}

}  // namespace sl
