// Progress that is read from a job's output: a text with the places where numbers stand, "epoch {done}/{total}". A space
// stands for any number of blanks, at least one; everything else stands for itself. So reading a line takes time in
// proportion to its length and to that of the pattern, whatever a user writes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "wire/job_spec.h"

namespace sl::wire {

// Error "bad-progress": without {done}, or with one of the two twice, or too long.
Status check_progress_pattern(const std::string& pattern);

struct FoundProgress {
  double done = 0;
  std::optional<double> total;
};
// What the last place of the line says that fits; nothing if none does.
std::optional<FoundProgress> find_progress(const ProgressSpec& spec, std::string_view line);

}  // namespace sl::wire
