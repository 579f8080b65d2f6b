// What is believed about a job's speed and length. Policies ask here; worlds decide who answers: a simulation from the
// profile, the live cluster from the user's figure, history and progress. Every figure has a confidence or is unknown.
#pragma once

#include <cstdint>
#include <limits>

#include "base/time.h"
#include "model/job.h"

namespace sl {

enum class Confidence : std::uint8_t { unknown, low, medium, high };

struct Figure {
  double value = 0;
  Confidence confidence = Confidence::unknown;
  bool known() const { return confidence != Confidence::unknown; }
  double value_or(double other) const { return known() ? value : other; }
  static Figure unknown() { return {}; }
};

class Estimates {
 public:
  virtual ~Estimates() = default;
  // Seconds the whole job runs on `gpus` GPUs, alone, from its beginning.
  virtual Figure run_time_s(const Job& job, int gpus) const = 0;
  // Seconds it still has to run on `gpus` GPUs.
  virtual Figure remaining_s(const Job& job, int gpus, Instant now) const = 0;
  // Speed on `gpus` GPUs relative to one: s(0) = 0, s(1) = 1.
  virtual Figure speedup(const Job& job, int gpus) const = 0;
  // True when figures change by running alone: what remains of a running job falls by one second a second (on other
  // than one GPU by the speed-up), nothing else ever changes it. Policies may then keep orders instead of sorting anew.
  virtual bool steady() const { return false; }
};

// From what the request itself says: the user's estimate, else the time limit; speed-up and run times from its model.
class RequestEstimates : public Estimates {
 public:
  Figure run_time_s(const Job& job, int gpus) const override;
  Figure remaining_s(const Job& job, int gpus, Instant now) const override;
  Figure speedup(const Job& job, int gpus) const override;
};

}  // namespace sl
