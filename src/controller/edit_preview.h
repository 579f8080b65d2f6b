// What a change of a job would do: to it, to others, and to the order in which the policy serves those that wait.
#pragma once

#include <boost/describe.hpp>
#include <functional>
#include <vector>

#include "controller/answers.h"
#include "controller/forecasts.h"

namespace sl::controller {

namespace answers {

struct JobEdit {
  Number id = 0;
  Text name, user, change;  // "priority 0 → 1"
};
BOOST_DESCRIBE_STRUCT(JobEdit, (), (id, name, user, change))

struct LinePreview {
  Text policy;
  std::optional<int> position_before, position;  // of the job, from 1; null: it does not stand in line
  std::vector<Number> order;                     // of those that wait, afterwards; the first hundred
};
BOOST_DESCRIBE_STRUCT(LinePreview, (), (policy, position_before, position, order))

struct EditPreview {
  Number id = 0;
  Text name;
  std::vector<JobEdit> changes;     // the job's own first
  std::optional<LinePreview> line;  // null: no priority changes, or this controller makes no forecasts
};
BOOST_DESCRIBE_STRUCT(EditPreview, (), (id, name, changes, line))

}  // namespace answers

// Calls `done` on the core's thread, as it must be called. Errors: those of making the policy.
void preview_edit(Forecasts& forecasts, const Logic& logic, const JobEntry& entry, const Submissions::Edit& edit,
                  Instant now, std::function<void(Result<answers::EditPreview>)> done);

}  // namespace sl::controller
