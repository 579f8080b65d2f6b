// How good guesses of run times from history are (estimate/run_time_history.h): a trace is replayed as if every job
// started when it was submitted, and each job's run time is guessed from those that had ended by then.
#pragma once

#include "study/scoring.h"
#include "trace/trace.h"

namespace sl::study {

inline constexpr const char *like_jobs = "median of like jobs", *user_mean = "mean of the user's jobs",
                            *user_last = "last job of the user";

// Asks about the jobs from `from` on (0.5: the second half). Where the trace has no users, its tenants are the users.
ScoreTable score_run_times(const trace::Trace& trace, double from = 0.5);

}  // namespace sl::study
