// Which priorities serve a waiting job before another one. Order among jobs of equal priority is up to the policy, so the
// jobs in front of the place get higher priorities too where they would otherwise fall behind.
#pragma once

#include <span>
#include <vector>

#include "base/result.h"
#include "model/job.h"

namespace sl::controller {

struct Priority {
  JobId job;
  int priority = 0;
  friend bool operator==(const Priority&, const Priority&) = default;
};

struct InLine : Priority {
  JobId group;  // whose member it is; none: it is no member
};

// The line with each group as one entry, at the place and with the priority of its first member, where that says the
// same: its members stand together and have one priority, or the group itself is `job` or `other`. The members of a
// group of which `job` or `other` is one stay.
std::vector<Priority> with_groups_as_one(std::span<const InLine> line, JobId job, JobId other);

// `line`: those that wait, in the policy's order, with their priorities. Returns the ones to be changed, `job` first if it
// is one of them; none if it is served before `other` already and next to it. Errors: "job-not-in-line" for either
// one, "bad-priority" if they are the same, "highest-priority-taken".
Result<std::vector<Priority>> priorities_to_serve_before(std::span<const Priority> line, JobId job, JobId other);

}  // namespace sl::controller
