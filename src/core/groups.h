// Groups (struct Group): when their members come up, and when they end.
//
// The members of a group are alike, so policies see of those that wait as many as could run at once if the servers were
// empty, and one more, which holds up whoever stands behind it: all of them would make no difference to what starts. The
// rest costs nothing. With `max_running` members come up only as others end; if it is lowered, those that have come up and
// may not begin any more stand aside until others have ended.
#pragma once

#include <vector>

#include "core/jobs.h"
#include "core/lifecycle.h"

namespace sl {

class Groups {
 public:
  Groups(Jobs& jobs, const LineGate& gate, Lifecycle& lifecycle) : jobs_(jobs), gate_(gate), lifecycle_(lifecycle) {}

  // A group that has been submitted or restored.
  void add(const Job& group);
  // `max_running` of the group has changed.
  void limit(JobIndex group);
  // Members that may start come up.
  void bring_up(Instant now);
  // A member that has not come up yet does. None: there is no such member.
  JobIndex bring_up_member(JobId member);
  // How many members have not come up, of groups that are held by their users or of the others.
  std::int64_t members_to_come(bool held) const;
  // Members that have come up and have no GPUs, of groups that are held: they stand aside.
  std::int64_t members_held_up() const;
  // The members that have come up and have not ended, by id.
  std::vector<JobId> unfinished_members(JobId group) const;

 private:
  bool wants_more(const Job& group, Instant now) const;
  JobIndex bring_up(JobIndex group, std::int64_t place);
  void keep_to_limit(JobIndex group);

  Jobs& jobs_;
  const LineGate& gate_;
  Lifecycle& lifecycle_;
};

}  // namespace sl
