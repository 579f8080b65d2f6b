// What is expected of jobs, and how such expectations held.
#pragma once

#include "controller/outlook.h"
#include "controller/views.h"

namespace sl::controller {

// When an unfinished job starts and ends; nothing before the first forecast. If nothing is known, `text` says why and what
// would give an estimate; unless `is_explained`, also how to ask.
std::optional<answers::Estimate> estimate_view(const Logic& logic, JobIndex job, Instant now,
                                               bool is_explained = false);
// Of a job that has not been submitted, in a forecast of the present with it.
answers::Estimate submission_estimate(const forecast::Forecast& forecast, JobId job,
                                      const std::vector<std::string>& servers);
std::optional<answers::Range> range_view(const std::optional<forecast::Range>& range, Instant now);

// The jobs that hold GPUs of a server, those that end first first: which job frees how many, and when about. Jobs whose end
// is unknown come last.
std::vector<answers::Frees> frees_view(const Logic& logic, ServerIndex server, Instant now);

// Which GPUs are free next: those that are free now on the server that has most of them, else those of the job that is
// expected to end first.
answers::NextFree next_free_view(const Logic& logic, Instant now);

// The document of GET /estimates.
answers::Record record_view(const Prospects& prospects);

}  // namespace sl::controller
