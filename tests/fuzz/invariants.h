// What must hold for every trace that a reader accepts, whatever the bytes were.
#pragma once

#include <algorithm>

#include "base/check.h"
#include "trace/summary.h"
#include "trace/writer.h"

namespace sl::trace {

inline void check_job(const Trace& trace, const TraceJob& job) {
  SL_CHECK(job.gpus >= 1, "a job has a GPU");
  SL_CHECK(job.duration.us >= 0, "no job runs backwards");
  SL_CHECK(job.submitted.us >= 0, "no job is submitted before the trace begins");
  SL_CHECK(job.user < trace.users.size(), "its user is one of the trace's");
  SL_CHECK(!job.id().empty(), "it has an id");
  SL_CHECK(job.details == TraceJob::nothing_more || job.details < trace.details.size(), "its details exist");
}

inline void check_trace(const Trace& trace) {
  SL_CHECK(!trace.jobs.empty(), "a trace has a job");
  for (const TraceJob& job : trace.jobs) check_job(trace, job);
  SL_CHECK(std::is_sorted(trace.jobs.begin(), trace.jobs.end(),
                          [](const TraceJob& a, const TraceJob& b) { return a.submitted < b.submitted; }),
           "jobs are in order of submission");
  SL_CHECK(summarize(trace).jobs == static_cast<std::int64_t>(trace.jobs.size()), "a summary counts every job");
}

// What we write we can read, and writing that gives the same bytes.
inline void check_round_trip(const Trace& trace) {
  TraceOptions options;
  options.everything = true;
  const std::string csv = to_csv(trace);
  const Result<Trace> again = parse_trace(csv, options);
  SL_CHECK(again.ok(), "our own CSV can be read");
  SL_CHECK(to_csv(*again) == csv, "it is the same trace");
  SL_CHECK(!to_swf(trace).empty(), "it can be written as SWF");
}

}  // namespace sl::trace
