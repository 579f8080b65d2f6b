// Looking ahead (policies.md 1.3, 1.4): when running jobs give back their GPUs, when a job that does not fit now will,
// and what others may take meanwhile without delaying it. All of it uses run times that users state or that are
// estimated; a job without either is assumed to run for `default_estimate`. A job that outlives its figure gets
// `overrun_grace` more, then `overrun_factor` times as much as before, and so on, so that between two expected ends time
// alone changes nothing. One that has just reached its figure is about to end: until its end is known, which takes its
// processes and its server a moment, it gets only `end_delay`, lest others take the GPUs that the first in line is to
// have with them. (Increments that grow: Tsafrir, Etsion, Feitelson, "Backfilling using system-generated
// predictions rather than user runtime estimates", IEEE TPDS 18(6), 2007.)
#pragma once

#include <optional>
#include <vector>

#include "policy/policy.h"

namespace sl {

inline constexpr Duration end_delay = Duration::whole_seconds(5);

struct ReservationSettings {
  Duration default_estimate = Duration::whole_seconds(86400);
  Duration overrun_grace = Duration::whole_seconds(60);
  int overrun_factor = 1;

  // `overrun_factor`: its default.
  static std::vector<ParameterInfo> parameters(const char* overrun_factor = "1");
  static ReservationSettings of(const Parameters& given);
};

// The longest time a waiting job will hold that many GPUs, as far as is known.
Duration run_bound(const View& view, const Job& job, int gpus, const ReservationSettings& settings);
// When a job that holds GPUs gives them back.
Instant expected_end(const View& view, const Job& job, const ReservationSettings& settings);

// GPUs that will be given back.
struct Holding {
  Instant end;
  Allocation gpus;
  Demand demand;
};

// Those of all active jobs, in the order of the list; a plan adds the jobs it starts.
std::vector<Holding> holdings(const View& view, const ReservationSettings& settings);

// When a decision may change without any event.
Instant first_end(const std::vector<Holding>& holdings);

// When and where a job first fits if everything ends as expected, and how many GPUs are left over then.
struct Shadow {
  Instant at;
  Allocation gpus;
  std::vector<int> extra;  // by server
  // For a job that any free GPUs suit, on any servers: how many are left over in all. Others may take any GPUs, as long
  // as so many remain.
  std::optional<int> extra_anywhere = {};
};

// Asks the placer after each end. Nothing if the job does not fit even after the last. Leaves the trial as it was.
std::optional<Shadow> find_shadow(const View& view, const Job& job, int gpus, const std::vector<Holding>& holdings,
                                  Trial& trial);

// For users' questions: when and where a waiting job that does not fit now will start at the latest. Nothing: it fits
// now, or not even after all jobs have ended.
std::vector<Reservation> reserve(const View& view, JobIndex job, int gpus, const ReservationSettings& settings);

// What may start before the job that holds the reservation without delaying it.
class Backfill {
 public:
  Backfill(const View& view, Shadow shadow, const FreeGpus& free);

  // GPUs for a job: any free ones if it ends by the shadow time, else those left over then. `free` are those of the
  // trial.
  std::optional<Allocation> find(const FreeGpus& free, const JobRequest& request, int gpus, Duration bound);
  // Whether find() looks at all free GPUs for a job that runs that long.
  bool may_take_any(Duration bound) const { return ends_in_time(bound); }
  // How many GPUs are left over for one that runs longer, wherever they are.
  int left_over() const { return extra_anywhere_.value_or(total_); }
  // The job got `gpus`; the trial has taken them.
  void took(const FreeGpus& free, const Allocation& gpus, Duration bound);

 private:
  bool ends_in_time(Duration bound) const;
  int left_over_on(const FreeGpus& free, ServerIndex server) const;
  void refresh(const FreeGpus& free, ServerIndex server);

  const View& view_;
  Instant shadow_;
  std::vector<int> extra_;             // by server: GPUs still left over at the shadow time
  std::optional<int> extra_anywhere_;  // of all servers together; then the others are not used
  std::vector<int> counts_;            // by server: free GPUs, as many as `extra_` allows
  int total_ = 0;                      // of them
  std::optional<FreeGpus> left_over_;  // these GPUs, once a job has been looked for that they suffice for
};

}  // namespace sl
