// Collects jobs in any order and makes a trace of them: sorted by submission, numbered from 1.
#pragma once

#include "sim/trace.h"

namespace sl::sim {

class TraceBuilder {
 public:
  explicit TraceBuilder(std::size_t jobs_expected) { trace_.jobs.reserve(jobs_expected); }

  // The reference is good until the next call.
  TraceJob& add(Duration submitted, Duration duration, int gpus) {
    TraceJob& job = trace_.jobs.emplace_back();
    job.submitted = Instant{submitted.us};
    job.duration = duration;
    job.gpus = gpus;
    return job;
  }
  std::uint32_t add_user(std::string name);
  // For several jobs, or one.
  std::uint32_t add_details(TraceDetails details);
  LargeVector<TraceJob>& jobs() { return trace_.jobs; }

  Trace finish();

 private:
  void number();
  Trace trace_;
};

}  // namespace sl::sim
