// What is believed about a job's speed and length. Policies ask here; each world provides the answers: the simulation
// from profiles, the live cluster from the user's figure, history and progress. Every figure has a confidence or is
// unknown.
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

// What is said of a job that waits changes only with its request, so policies may keep their order of those.
class Estimates {
 public:
  virtual ~Estimates() = default;
  // Seconds the whole job takes on `gpus` GPUs, alone, from its beginning. They change only with its request.
  virtual Figure run_time_s(const Job& job, int gpus) const = 0;
  // Seconds it still has to run on `gpus` GPUs.
  virtual Figure remaining_s(const Job& job, int gpus, Instant now) const = 0;
  // How its speed depends on the number of GPUs. The curve belongs to the job's model.
  virtual const SpeedCurve& speed_curve(const Job& job) const = 0;
  // True if only running changes the figures of running jobs: what is left falls by one second per second (on a number of
  // GPUs other than one, by the speedup), and nothing else changes it. Policies may then keep an order of these too.
  virtual bool steady() const { return false; }
};

// Seconds a job still has to run on `gpus` GPUs if the whole run takes `whole_s` on the GPUs it asks for. A job that
// outlives its estimate does not stay "about to finish" for ever: at least a tenth of its run time so far is left
// (policies.md 4.1).
double remaining_s(const Job& job, const SpeedCurve& curve, double whole_s, int gpus, Instant now);

// Estimates from the request itself: the user's estimate, else the time limit, for the GPUs it asks for; for other
// numbers of GPUs scaled by its speed curve.
class RequestEstimates : public Estimates {
 public:
  Figure run_time_s(const Job& job, int gpus) const override;
  Figure remaining_s(const Job& job, int gpus, Instant now) const override;
  const SpeedCurve& speed_curve(const Job& job) const override { return job.request.speed_curve(); }
};

}  // namespace sl
