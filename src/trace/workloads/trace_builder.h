// Collects jobs in any order and makes a trace from them: sorted by submission, numbered from 1.
#pragma once

#include "trace/trace.h"

namespace sl::trace {

class TraceBuilder {
 public:
  explicit TraceBuilder(std::size_t jobs_expected) { trace_.jobs.reserve(jobs_expected); }

  // The reference is valid until the next call.
  TraceJob& add(Duration submitted, Duration duration, int gpus) {
    TraceJob& job = trace_.jobs.emplace_back();
    job.submitted = Instant{submitted.us};
    job.duration = duration;
    job.gpus = gpus;
    return job;
  }
  std::uint32_t add_user(std::string name);
  // Details that one or several jobs may share; returns their index.
  std::uint32_t add_details(TraceDetails details);
  LargeVector<TraceJob>& jobs() { return trace_.jobs; }

  Trace finish();

 private:
  void number();
  Trace trace_;
};

// Of a workload whose jobs would be submitted later than a trace may say.
Error too_late();

}  // namespace sl::trace
