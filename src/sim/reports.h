// What a running training with a known profile reports, as an agent would read it from the metrics file and the driver:
// after each epoch its mean loss, and both then and half a minute after every change of configuration its speed and the
// utilization and memory of its GPUs. Losses follow the profile's curve with its noise, drawn from the seed: the same
// for every policy. The curve of a job with a target loss is stretched so that it meets the target at its end.
//
// An epoch that is trained again after a fault is not reported again; the last epoch ends with the job.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <optional>

#include "core/core.h"
#include "sim/behaviour.h"
#include "sim/event_queue.h"
#include "sim/trainings.h"

namespace sl::sim {

class Reports {
 public:
  // All arguments must outlive it.
  Reports(const trace::Trace& trace, const Behaviours& behaviours, const Cluster& cluster, const Core& core,
          std::uint64_t seed);

  // When the next report may be due; never: there are none, as is always so without profiles.
  Instant next() const { return due_.empty() ? Instant::never() : due_.top().at; }
  // The training starts or continues, at training.since.
  void start(JobIndex place, const Training& training) {
    if (const Behaviour* known = behaviours_.of(training.job)) {
      told_[training.job].configuration = {};
      follow(*known, place, training, training.since);
    }
  }
  // It continues at another speed or next to other jobs.
  void change(JobIndex place, const Training& training, Instant now) {
    if (const Behaviour* known = behaviours_.of(training.job)) follow(*known, place, training, now);
  }
  // The next report that is due; nothing: there are no more at this instant.
  std::optional<AttemptProgressed> take(Trainings& trainings, Instant now);
  void forget(std::size_t job) {
    if (!told_.empty()) told_.erase(static_cast<std::uint32_t>(job));
  }

 private:
  struct Due {
    Instant at;
    std::uint32_t job;  // in the trace
    JobIndex place;
    friend bool operator>(const Due& a, const Due& b) { return a.at != b.at ? a.at > b.at : a.job > b.job; }
  };
  struct Told {
    int epochs = 0;  // number of epochs reported
    SpeedSample configuration;
    Instant configured;  // since when it runs in this configuration; never happened: its speed there has been reported
    Instant epoch_ends, at;  // of the next report that counts; others in the queue are out of date
  };

  void follow(const Behaviour& known, JobIndex place, const Training& training, Instant from);
  void plan(const Behaviour& known, JobIndex place, const Training& training, Told& told);
  Instant end_of_epoch(const Behaviour& known, const Training& training, int epoch) const;
  AttemptProgressed report(const Behaviour& known, const Job& job, const Training& training, const Told& told,
                           Instant at) const;
  SpeedSample configuration_of(const Behaviour& known, const Job& job) const;
  double epochs_of(const Behaviour& known, std::size_t job) const;
  bool is_wide(std::size_t job) const { return trace_.jobs[job].gpus > gpus_per_server_; }
  std::optional<double> loss_of(const Behaviour& known, std::size_t job, int epoch) const;
  JobId neighbour_of(const Job& job) const;

  const trace::Trace& trace_;
  const Behaviours& behaviours_;
  const Core& core_;
  std::uint64_t seed_;
  int gpus_per_server_;
  bool is_pool_;
  std::vector<std::size_t> kind_of_server_;
  EventQueue<Due> due_;
  boost::unordered_flat_map<std::uint32_t, Told> told_;  // by index in the trace
};

}  // namespace sl::sim
