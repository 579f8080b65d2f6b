// A workload trace: what was submitted when, how wide and how long. CSV with a header line, plain or gzip-compressed;
// the columns job_id, submit_time_s, gpus, duration_s are needed, in any order; docs/formats/trace.md lists the others.
// Times are seconds from the trace's own origin.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/large_vector.h"
#include "base/result.h"
#include "base/time.h"
#include "model/job.h"

namespace sl::sim {

// What every job has. Small, since traces have millions.
struct TraceJob {
  static constexpr std::uint32_t nothing_more = UINT32_MAX;

  Instant submitted;
  Duration duration;  // on the GPUs it asked for, alone
  const char* id_text = nullptr;
  std::uint32_t id_size = 0;
  std::int32_t gpus = 1;
  std::uint32_t user = 0;  // of Trace::users; 0: nobody known
  std::uint32_t details = nothing_more;

  std::string_view id() const { return {id_text, id_size}; }
};

// What few traces say, or say of few jobs.
struct TraceDetails {
  std::optional<Duration> estimate;  // the user's own figure for the run time
  Instant deadline = Instant::never();
  int priority = 0;
  int gpus_min = 0, gpus_max = 0;      // 0: as many as it asks for
  double gpu_share = 1;                // below 1: it may share its GPU
  ResourceVector demand;               // CPUs, memory, disk, network, for the whole job
  std::vector<std::string> gpu_types;  // any of; empty: any
  std::string virtual_cluster, family, status;
  std::shared_ptr<const JobModel> model;  // speed on other numbers of GPUs, roles…; null: nothing known

  // What no simulation uses; read only where TraceOptions::everything says so.
  std::string qos;
  double iterations = 0;   // 0: unknown
  Instant original_start;  // on the cluster the trace is from; never happened: unknown
  friend bool operator==(const TraceDetails&, const TraceDetails&) = default;
};

enum class Oversize : std::uint8_t { drop, fail, clip };  // jobs wider than gpus_max

struct TraceOptions {
  int gpus_max = 1 << 20;
  Oversize oversize = Oversize::drop;
  Duration duration_min = Duration{0};           // shorter ones are made this long
  Duration duration_max = Duration::infinite();  // longer ones are made this long
  std::int64_t jobs_max = 0;                     // only so many, the first by submission; 0: all
  bool everything = false;                       // also what no simulation uses, to be written again
};

// What was left out or changed, and why.
struct TraceReport {
  std::int64_t rows = 0;
  std::int64_t dropped_oversize = 0;
  std::int64_t dropped_without_gpus = 0;  // CPU-only jobs
  std::int64_t clipped_gpus = 0;
  std::int64_t clipped_duration = 0;
  bool was_unsorted = false;
};

// Moves, since jobs point into its text.
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
  std::shared_ptr<const std::string> text;  // what ids point into

  const TraceDetails* details_of(const TraceJob& job) const {
    return job.details == TraceJob::nothing_more ? nullptr : &details[job.details];
  }
};

// Errors: those of read_text (trace_file.h), "trace-columns", "trace-row" with the line and the column's name,
// "trace-empty", "trace-duplicate-id", "trace-oversize".
Result<Trace> read_trace(const std::string& path, const TraceOptions& options);
Result<Trace> parse_trace(std::string text, const TraceOptions& options);

// Applies the options to jobs from elsewhere and puts them in order of submission.
Result<Trace> finish_trace(Trace trace, const TraceOptions& options);

}  // namespace sl::sim
