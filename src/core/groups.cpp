#include "core/groups.h"

#include <algorithm>

namespace sl {

void Groups::add(const Job& group) {
  const Jobs::OpenGroup open{group.group->first_member, group.request.id};
  const auto at = std::ranges::lower_bound(jobs_.groups(), open.first_member, {}, &Jobs::OpenGroup::first_member);
  if (at == jobs_.groups().end() || at->id != open.id) jobs_.groups().insert(at, open);
}

void Groups::limit(JobIndex group) {
  jobs_[group].group->admitted_of = Group::unknown;
  add(jobs_[group]);
}

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
    if (is_open) keep_to_limit(group);
    return !is_open || (jobs_[group].group->to_come.empty() && !jobs_[group].group->is_over_limit());
  });
}

// As many of those that never began as may, the first ones, stand in line.
void Groups::keep_to_limit(JobIndex index) {
  Group& group = *jobs_[index].group;
  const std::int64_t unfinished = group.is_over_limit() ? group.unfinished() : 0;  // 0: all may begin
  if (unfinished == group.admitted_of) return;
  group.admitted_of = unfinished;
  if (unfinished == 0 && group.last_admitted == Group::every_place) return;
  std::vector<JobIndex> fresh;
  for (const JobId member : unfinished_members(jobs_[index].request.id)) {
    if (jobs_[jobs_.find(member)].attempt == 0) fresh.push_back(jobs_.find(member));
  }
  const std::int64_t begun = unfinished - std::ssize(fresh),
                     free = std::max<std::int64_t>(0, group.max_running - begun);
  group.last_admitted = unfinished == 0 || free >= std::ssize(fresh) ? Group::every_place
                        : free == 0                                  ? -1
                                    : group.place(jobs_[fresh[static_cast<std::size_t>(free) - 1]].request.id);
  for (const JobIndex member : fresh) lifecycle_.look_again(member);
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

std::int64_t Groups::members_held_up() const {
  return std::ranges::count_if(jobs_.aside(), [&](JobIndex job) {
    const JobId of = jobs_[job].request.member_of;
    const JobIndex group = of.valid() && jobs_[job].state == JobState::pending ? jobs_.find(of) : JobIndex::none();
    return group.valid() && jobs_[group].on_hold;
  });
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
  return group.valid() ? bring_up(group, jobs_[group].group->place(member)) : group;
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
