// What a forecast is told: a copy of the present and what jobs have said of themselves (core's thread), and what follows
// from that for their lengths (the forecast's thread).
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <deque>
#include <string>
#include <vector>

#include "controller/logic.h"
#include "forecast/lengths.h"

namespace sl::controller {

// Copied on the core's thread; nothing is parsed there.
struct ToldJob {  // one that was not told before
  JobId id;
  std::string spec_json;
};
struct ToldProgress {
  JobId id;
  std::string progress_json;
  std::optional<double> per_s;  // measured, in `unit`
  std::string unit;
  std::optional<int> steps_per_epoch;
};
struct ToldStart {
  JobId id;
  Instant at;
};
struct ToldEnd {
  JobId id;
  std::string state, failure_kind, spec_json;
  std::optional<Instant> started;
  Instant at;
  std::int64_t run_us = 0, attained_gpu_us = 0;
};
struct Told {
  forecast::Present present;
  std::vector<ToldJob> jobs;
  std::vector<ToldProgress> progress;
  std::vector<ToldEnd> ends;  // since the last time
  PolicyChange policy;        // in force
  std::int64_t version = 0;   // of the state
};

// Used by the core's thread.
class Teller {
 public:
  explicit Teller(const Logic& logic) : logic_(logic) {}
  // Changes with everything that happens to jobs, servers and the policy.
  std::int64_t version() const { return logic_.recorder().next_event(); }
  Told tell(Instant now);
  // The present and the policy alone, for questions.
  Told tell_present(Instant now) const;

 private:
  void tell_jobs(Told& told, Instant now);
  const Logic& logic_;
  JobId told_up_to_{0};
  Instant last_;
};

// How long it ran, as if on the GPUs that it asked for; 0: it never ran.
double ran_s(const ToldEnd& end);

// What runs of jobs like this one have in common.
forecast::RunKind kind_of(const wire::JobSpec& spec);

// Used by the forecast's thread: what is known of lengths, by all that was told so far.
class KnownLengths {
 public:
  void learn(const Told& told);
  std::vector<forecast::JobFacts> facts_of(const Told& told) const;
  forecast::RunKind kind_for(const JobRequest& request) const;
  const forecast::Lengths& lengths() const { return lengths_; }

 private:
  forecast::Lengths lengths_;
  boost::unordered_flat_map<std::int64_t, forecast::RunKind>
      kinds_;                       // of unfinished jobs, and of the latest that ended
  std::deque<std::int64_t> ended_;  // those, oldest first
};

// What is left according to the report; nothing if it does not say.
std::optional<forecast::ReportedProgress> read_progress(const ToldProgress& told, const Job& job, Instant now);

}  // namespace sl::controller
