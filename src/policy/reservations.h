// Looking ahead (policies.md 1.3, 1.4): when the GPUs of running jobs come back, when a job that does not fit will, and
// what others may take meanwhile without delaying it. Everything rests on run times that users state or that are
// estimated; where nothing is known a job counts as running for `default_estimate`. One that outlives its figure is
// given `overrun_grace` more, again and again, so that between two expected ends time alone changes nothing.
#pragma once

#include <optional>
#include <vector>

#include "policy/policy.h"

namespace sl {

struct ReservationSettings {
  Duration default_estimate = Duration::whole_seconds(86400);
  Duration overrun_grace = Duration::whole_seconds(60);

  static std::vector<ParameterInfo> parameters();
  static ReservationSettings of(const Parameters& given);
};

// How long a waiting job will hold that many GPUs at most, by what is known.
Duration run_bound(const Snapshot& snapshot, const Job& job, int gpus, const ReservationSettings& settings);
// When a job that holds GPUs gives them back.
Instant expected_end(const Snapshot& snapshot, const Job& job, const ReservationSettings& settings);

// GPUs that come back.
struct Holding {
  Instant end;
  Allocation gpus;
  ResourceVector demand;
};

// All of active jobs, in order of the list; a plan adds what it starts.
std::vector<Holding> holdings(const Snapshot& snapshot, const ReservationSettings& settings);

// When a decision may change though nothing happens.
Instant first_end(const std::vector<Holding>& holdings);

// When and where a job fits first if everything ends as expected, and how many GPUs each server has then beside it.
struct Shadow {
  Instant at;
  Allocation gpus;
  std::vector<int> extra;  // by server
};

// Asks the placer after each end. Nothing when the job does not fit even then. The trial is as it was afterwards.
std::optional<Shadow> find_shadow(const Snapshot& snapshot, const JobRequest& request, int gpus,
                                  std::vector<Holding> holdings, Trial& trial);

// What may start before the job with the reservation without delaying it.
class Backfill {
 public:
  Backfill(const Snapshot& snapshot, const Shadow& shadow, const FreeGpus& free);

  // GPUs for a job that ends by the shadow time, else such as are left over then. `free` are those of the trial.
  std::optional<Allocation> find(const FreeGpus& free, const JobRequest& request, int gpus, Duration bound) const;
  // The job got them; the trial has taken them.
  void took(const FreeGpus& free, const Allocation& gpus, Duration bound);

 private:
  bool ends_in_time(Duration bound) const;
  void refresh(const FreeGpus& free, ServerIndex server);

  const Snapshot& snapshot_;
  Instant shadow_;
  std::vector<int> extra_;  // by server: GPUs that are still left over at the shadow time
  FreeGpus left_over_;      // of the free ones, as many as `extra_` allows
};

}  // namespace sl
