// A workload trace: what was submitted when, how wide and how long. CSV with a header line, plain or gzip-compressed;
// the columns job_id, submit_time_s, gpus, duration_s are needed, in any order, others may follow. Times are seconds
// from the trace's own origin.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace sl::sim {

struct TraceJob {
  std::string id;
  Instant submitted;
  int gpus = 1;
  Duration duration;                 // on the GPUs it asked for
  std::optional<Duration> estimate;  // the user's own, column est_duration_s
  std::string user;
};

enum class Oversize : std::uint8_t { drop, fail, clip };  // jobs wider than gpus_max

struct TraceOptions {
  int gpus_max = 1 << 20;
  Oversize oversize = Oversize::drop;
  Duration duration_min = Duration{0};           // shorter ones are made this long
  Duration duration_max = Duration::infinite();  // longer ones are made this long
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

struct Trace {
  std::vector<TraceJob> jobs;  // by (submission, row)
  TraceReport report;
};

// Errors: "no-such-file", "trace-damaged" (gzip), "trace-columns", "trace-row" with the line and the column's name,
// "trace-empty", "trace-duplicate-id", "trace-oversize".
Result<Trace> read_trace(const std::string& path, const TraceOptions& options);
Result<Trace> parse_trace(const std::string& text, const TraceOptions& options);

}  // namespace sl::sim
