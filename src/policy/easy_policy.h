// EASY backfill (policies.md 1.3): the head of the line keeps its place; other jobs may go before it if they do not
// delay it.
//
// clang-format off
//   1 jobs start in order (priority descending, submission, id) while they fit; one with a required role that has no
//     member is left out
//   2 the first that does not fit gets a reservation: the earliest time at which the placer finds room for it if
//     running jobs end as expected, and the GPUs it would take then
//   3 each of the next `depth` jobs starts now if it fits and either ends by then or takes only GPUs that are left
//     over then
// clang-format on
//
// The time of the reservation comes from the placer, not from a count of GPUs: a job that needs one server cannot use
// one free GPU on each of four. Source: Lifka 1995; Mu'alem and Feitelson 2001.
#pragma once

#include <vector>

#include "policy/queue_policy.h"
#include "policy/reservations.h"

namespace sl {

struct EasySettings {
  ReservationSettings reservations;
  int depth = 1000;      // how many jobs behind the first are tried
  bool backfill = true;  // false: step 1 only

  static std::vector<ParameterInfo> parameters();
  static EasySettings of(const Parameters& given);
};

class EasyPolicy : public ArrivalPolicy {
 public:
  explicit EasyPolicy(const EasySettings& settings) : settings_(settings) {}

  void attach(const Snapshot& snapshot) override;
  void notice(const Snapshot& snapshot, NoticeKind kind, JobIndex job) override;
  std::vector<Reservation> reservations(const View& view) const override;

 protected:
  struct Starting {
    JobIndex job;
    Allocation gpus;
    Instant end;  // expected
  };

  // GPUs for a job whose turn it is, as many as gpus_of() returns.
  virtual std::optional<Allocation> find(const Snapshot& snapshot, const FreeGpus& free, const Job& job) const = 0;

  // Steps 1 to 3. The jobs to start are in starting(); their GPUs are taken from the trial. Returns whether all jobs
  // start.
  bool serve(const Snapshot& snapshot, Trial& trial, Plan& plan);
  std::vector<Starting>& starting() { return starting_; }

 private:
  void take(const Snapshot& snapshot, JobIndex index, Allocation gpus, Trial& trial);
  using InOrder = OrderedJobs<ArrivalKey>;
  void enter(const Snapshot& snapshot, JobIndex job);
  void backfill(const Snapshot& snapshot, const InOrder::Iterator& head, Trial& trial, Plan& plan);
  std::vector<std::uint32_t> lines_with_room(const Snapshot& snapshot, const FreeGpus& free) const;
  std::vector<Holding> held_until(const Snapshot& snapshot) const;
  Shadow shadow_of(const Snapshot& snapshot, const Job& head, const std::vector<Holding>& held, Trial& trial) const;

  EasySettings settings_;
  InOrder in_order_;                          // the jobs of all lines
  IndexedVector<JobIndex, Duration> bounds_;  // of those: run_bound()
  std::vector<Starting> starting_;
};

}  // namespace sl
