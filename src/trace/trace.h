// A workload trace: what was submitted when, how wide and how long. CSV with a header line, plain or gzip-compressed;
// the columns job_id, submit_time_s, gpus, duration_s are required, in any order; docs/formats/trace.md lists the
// others. Times are seconds from the trace's own origin.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/large_vector.h"
#include "base/result.h"
#include "base/time.h"
#include "model/job.h"
#include "trace/text_file.h"
#include "wire/profile.h"

namespace sl::trace {

// What every job has. Small, since traces have millions of jobs.
struct TraceJob {
  static constexpr std::uint32_t nothing_more = UINT32_MAX;

  Instant submitted;
  Duration duration;  // on the GPUs it asked for, alone
  const char* id_text = nullptr;
  std::uint32_t id_size = 0;
  std::int32_t gpus = 1;
  std::uint32_t user = 0;  // index in Trace::users; 0: unknown
  std::uint32_t details = nothing_more;

  std::string_view id() const { return {id_text, id_size}; }
};

// Facts that few traces state, or state for few jobs.
struct TraceDetails {
  std::optional<Duration> estimate;  // the user's own figure for the run time
  Instant deadline = Instant::never();
  int priority = 0;
  int gpus_min = 0, gpus_max = 0;      // 0: as many as it asks for
  double gpu_share = 1;                // below 1: the job may share its GPU
  ResourceVector demand;               // CPUs, memory, disk, network, for the whole job
  std::vector<std::string> gpu_types;  // any of; empty: any
  // Jobs of one array follow each other, ask for the same and are submitted together (array_at).
  std::string array;                    // its name; empty: the job belongs to none
  int max_running = 0;                  // so many jobs of the array at a time; 0: any number
  std::vector<std::string> after;       // ids of jobs, or names of arrays, before it that must have succeeded
  std::vector<std::string> on, not_on;  // names or labels of servers, as ServerChoice takes them
  std::string virtual_cluster, family, status;
  std::shared_ptr<const JobModel> model;  // what is stated about its training in advance; null: nothing
  // How its training really runs: the world knows it, policies only as far as they may. Null: unknown; its speed
  // follows the model.
  std::shared_ptr<const wire::TrainingProfile> profile;

  // What no simulation uses; read only if TraceOptions::everything is set.
  std::string qos;
  double iterations = 0;   // 0: unknown
  Instant original_start;  // in the cluster the trace is from; never happened: unknown
  friend bool operator==(const TraceDetails&, const TraceDetails&) = default;
};

enum class Oversize : std::uint8_t { drop, fail, clip };  // jobs wider than gpus_max

// By family.
using Profiles = std::map<std::string, std::shared_ptr<const wire::TrainingProfile>, std::less<>>;

struct TraceOptions {
  int cluster_gpus = 0;  // workloads that do not state their cluster's size are made for this many; 0: their default
  int gpus_max = 1 << 20;
  Oversize oversize = Oversize::drop;
  bool keeps_without_gpus = false;               // jobs without a GPU stay
  Duration duration_min = Duration{0};           // shorter jobs are lengthened to this
  Duration duration_max = Duration::infinite();  // longer jobs are shortened to this
  std::int64_t jobs_max = 0;                     // only this many, the first by submission; 0: all
  std::size_t text_max = text_bytes_max;         // of a file, unpacked: one with more is refused
  Profiles profiles;                             // for jobs whose column `profile`, or else `model`, names the family
  std::map<std::string, Duration>
      restart_by_family;    // what a restart costs jobs of these families, whatever they state
  bool everything = false;  // read also what no simulation uses, so that it can be written again
};

// What was left out or changed, and why.
struct TraceReport {
  std::int64_t rows = 0;
  std::int64_t dropped_oversize = 0;
  std::int64_t dropped_without_gpus = 0;
  std::int64_t clipped_gpus = 0;
  std::int64_t clipped_duration = 0;
  bool was_unsorted = false;
};

// Can be moved but not copied: jobs point into its source.
struct Trace {
  Trace() = default;
  Trace(Trace&&) = default;
  Trace& operator=(Trace&&) = default;
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  LargeVector<TraceJob> jobs;  // by (submission, row)
  std::vector<TraceDetails> details;
  std::vector<std::string> users = {""};
  TraceReport report;
  std::shared_ptr<const void> source;  // the text that ids point into

  const TraceDetails* details_of(const TraceJob& job) const {
    return job.details == TraceJob::nothing_more ? nullptr : &details[job.details];
  }
};

// How many jobs, from this one on, belong to the same array; 0: it belongs to none.
std::size_t array_at(const Trace& trace, std::size_t job);

// Errors: those of read_text (trace_file.h), "trace-columns", "trace-row" with the line and the column's name,
// "trace-empty", "trace-duplicate-id", "trace-oversize", "trace-array", "trace-after".
Result<Trace> read_trace(const std::string& path, const TraceOptions& options);
Result<Trace> parse_trace(std::string text, const TraceOptions& options);

// Applies the options to jobs from other sources and sorts them by submission.
Result<Trace> finish_trace(Trace trace, const TraceOptions& options);

}  // namespace sl::trace
