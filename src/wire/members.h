// Jobs that are submitted as one: the members of an array, or one for each combination of a matrix of values (a sweep).
//
// The submission of the group is a JobSpec with `array` or `matrix`; that of a member follows from it: {index}, or {key}
// for each key of the matrix, is replaced in the name, the command, the folders and the environment. A name without
// any of them gets the number appended. With both, `array` says which combinations of the matrix are members.
#pragma once

#include "wire/job_spec.h"
#include "wire/keys.h"

namespace sl::wire {

inline constexpr std::int64_t members_max = 100'000;

inline bool is_group(const JobSpec& spec) { return spec.array.has_value() || !spec.matrix.empty(); }
// How many members it has; 0: it is one job.
std::int64_t member_count(const JobSpec& spec);
// The number that users give a member: its number in the array; of a matrix, its place.
std::int64_t member_index(const JobSpec& group, std::int64_t place);
// Nothing if no member has that number.
std::optional<std::int64_t> place_of_member(const JobSpec& group, std::int64_t index);
// `group_id`: the job number of the group.
JobSpec member_spec(const JobSpec& group, std::int64_t group_id, std::int64_t place);

// The keys `array`, `matrix` and `max_running`.
void read_members(Keys& keys, JobSpec& into);
// Errors: "bad-array", "bad-matrix", "bad-max-running", "too-many-members".
Status validate_members(const JobSpec& spec);

// The keys `after` and `after_any`, and `not_before`. Errors: "bad-after", "bad-time".
Status read_after(const boost::json::value& value, const std::string& at, std::vector<std::int64_t>& into);
Status read_not_before(const boost::json::value& value, const std::string& at, JobSpec& into);
inline constexpr int prerequisites_max = 1'000;  // jobs that one job waits for, each way
Status validate_prerequisites(const JobSpec& spec);

}  // namespace sl::wire
