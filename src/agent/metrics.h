// Turns what a training writes to its metrics file into reports to the controller. There may be hundreds of thousands
// of lines; a report goes out at most once a second and contains the last line.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "wire/agent_protocol.h"

namespace sl::agent {

class MetricsReader {
 public:
  // Reads the complete lines written since the last call: at most 1 MiB of them, or all if `to_the_end`.
  void read(const std::string& path, std::int64_t now_us, bool to_the_end);
  // Reads one line. {"epoch": 3, "epochs": 10, "loss": 0.41, "accuracy": 0.87} says that an epoch has ended; a line
  // with "step" (and "steps") says how far the training has come within; "time" is when, in seconds since 1970 (UTC).
  // Anything else is ignored. Returns whether the line was used.
  bool add(std::string_view line, std::int64_t now_us);
  // So much of the total, in steps, is done.
  void add_progress(double done, std::optional<double> total, std::int64_t now_us);
  // Whether the file has said anything.
  bool has_reported() const { return has_reported_; }
  const wire::Progress& latest() const { return latest_; }
  // The report that is due now; `at_end`: everything not reported yet.
  std::optional<wire::Progress> take(std::int64_t now_us, bool at_end);

 private:
  std::int64_t offset_ = 0;
  wire::Progress latest_;
  bool is_new_ = false, has_reported_ = false;
  std::int64_t next_us_ = 0;
};

// Progress that a job's output tells, by a pattern (wire/progress.h).
class OutputProgress {
 public:
  explicit OutputProgress(wire::ProgressSpec spec) : spec_(std::move(spec)) {}
  // Reads what has been written since the last call, of more than 1 MiB only the end, and adds the last place that fits.
  void read(const std::string& path, std::int64_t now_us, MetricsReader& into);

 private:
  wire::ProgressSpec spec_;
  std::int64_t offset_ = 0;
  std::string begun_;  // the beginning of a line
};

}  // namespace sl::agent
