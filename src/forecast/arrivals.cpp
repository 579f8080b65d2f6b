#include "forecast/arrivals.h"

#include <algorithm>

namespace sl::forecast {
namespace {

bool stands_alone(const JobRequest& request) {
  const auto& before = request.prerequisites;
  return !request.member_of.valid() && (!before || (before->after.empty() && before->after_any.empty()));
}

Job again(const JobRequest& request, JobId id, Duration later) {
  Job job;
  job.request = request;
  job.request.id = id;
  job.request.submitted = request.submitted + later;
  if (!request.deadline.is_never()) job.request.deadline = request.deadline + later;
  Prerequisites prerequisites;
  prerequisites.not_before = job.request.submitted;
  job.request.prerequisites = std::make_shared<const Prerequisites>(std::move(prerequisites));
  job.state_since = job.waiting_since = job.request.submitted;
  return job;
}

}  // namespace

std::size_t add_arrivals(Present& present, std::vector<Lengths::Prospect>& prospects,
                         const std::vector<RecentJob>& recent, Duration window, const Lengths& lengths) {
  std::int64_t last = present.jobs.empty() ? 0 : present.jobs.back().request.id.value;
  for (const RecentJob& job : recent) last = std::max(last, job.request.id.value);
  std::size_t added = 0;
  for (const RecentJob& job : recent) {
    const bool is_recent = job.request.submitted + window > present.now && job.request.submitted <= present.now;
    if (!is_recent || !stands_alone(job.request)) continue;
    present.jobs.push_back(again(job.request, JobId(++last), window));
    prospects.push_back(lengths.prospect_of(present.jobs.back(), job.facts, present.now));
    ++added;
  }
  return added;
}

}  // namespace sl::forecast
