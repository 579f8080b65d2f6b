// What a job has used: REST's `/jobs/{id}/usage`. Read from its history, which says when it was in which state.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "controller/answers.h"
#include "controller/job_book.h"
#include "controller/series.h"

namespace sl::controller {

namespace answers {

// Nothing that was not measured is 0: it is null.
struct Usage {
  Number id = 0;
  double gpu_seconds = 0;          // held while it ran
  std::map<Text, double> state_s;  // time in each state that it has been in; of a group: none
  int attempts = 0, preemptions = 0, migrations = 0, resizes = 0;
  // Since it first ran: time with GPUs in which it did not run, because it was being stopped, moved or started again.
  double interrupted_s = 0;
  std::optional<double> start_up_s, stop_s, repeated_s;  // of the last interruption, as telemetry has them
  std::optional<double> energy_joules;
  std::optional<double> energy_measured_pct;  // of its GPU time; the rest is not in the energy
  std::optional<Number> gpu_memory_peak_bytes, gpu_memory_asked_bytes;  // on the fullest GPU; for each GPU
  std::optional<Number> members;                                        // of a group: how many are in these sums
};
BOOST_DESCRIBE_STRUCT(Usage, (),
                      (id, gpu_seconds, state_s, attempts, preemptions, migrations, resizes, interrupted_s, start_up_s,
                       stop_s, repeated_s, energy_joules, energy_measured_pct, gpu_memory_peak_bytes,
                       gpu_memory_asked_bytes, members))

}  // namespace answers

// A stretch of time that a job spent in one state.
struct Stay {
  std::string state;
  std::int64_t from_us = 0, to_us = 0;
};
// From a job's events, oldest first, up to `now_us` for one that has not ended.
std::vector<Stay> stays_of(const std::vector<store::EventRow>& events, const store::JobRow& row, std::int64_t now_us);

// `series` null: nothing was measured.
answers::Usage usage_view(const Core& core, const JobEntry& entry, const std::vector<store::EventRow>& events,
                          const Series* series, Instant now);
// Of a group: the sums of those of its members that have come up. `ended`: those that are over.
answers::Usage group_usage_view(const Logic& logic, const JobEntry& group, const std::vector<store::JobRow>& ended,
                                Instant now);

}  // namespace sl::controller
