// How trainings really run, according to their profiles: speed in each configuration, load on the GPUs, losses. Only
// the world asks here; policies see what jobs report (reports.h).
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "sim/cluster.h"
#include "trace/trace.h"

namespace sl::sim {

class Behaviour {
 public:
  // Both arguments must outlive it.
  Behaviour(const wire::TrainingProfile& profile, const Cluster& cluster);

  const wire::TrainingProfile& profile() const { return profile_; }
  // Speed alone on `gpus` GPUs of servers of a kind (index in cluster.kinds). A GPU type that the profile does not know
  // counts as the reference type times the kind's speed; several servers, if not measured, count as one times the
  // cluster's spanning_speed.
  double steps_per_s(std::size_t kind, int gpus, bool several_servers) const;
  // Speed on the GPU type that durations refer to, the profile's first.
  double reference_steps_per_s(int gpus, bool several_servers) const;
  // The fraction of its speed that it keeps next to a training of that family; nothing: not measured.
  std::optional<double> kept_beside(std::string_view family, std::size_t kind) const;
  // The largest such fraction, and at least 1.
  double most_kept(std::size_t kind) const;
  // The measurement on the nearest number of GPUs that is not larger. Null: there is none.
  const wire::ProfileSpeed* measured_near(std::size_t kind, int gpus) const;

  // The number of epochs of a training of this length; 0: unknown.
  double epochs(double reference_s, int gpus, bool several_servers) const;
  // Mean loss after an epoch, from 1, interpolated between epochs; nothing: the profile has no losses.
  std::optional<double> loss_after(double epoch) const;
  // The epoch at which the loss falls to the target; nothing: never.
  std::optional<double> epoch_of(double target_loss) const;

 private:
  struct Speeds {  // [gpus - 1]; empty: not measured
    std::vector<double> one_server, several_servers;
  };
  struct Kind {
    std::string gpu_type;
    const Speeds* speeds;
    double factor;  // multiplies the speeds
  };
  static double at(const std::vector<double>& table, int gpus);

  const wire::TrainingProfile& profile_;
  std::map<std::string, Speeds> by_type_;
  std::vector<Kind> kinds_;
  double spanning_speed_;
};

// The behaviours of all jobs of a trace that have a profile.
class Behaviours {
 public:
  Behaviours(const trace::Trace& trace, const Cluster& cluster);

  bool any() const { return !by_details_.empty(); }
  // Null: nothing is known about that job of the trace.
  const Behaviour* of(std::size_t job) const {
    if (by_details_.empty() || trace_.jobs[job].gpus == 0) return nullptr;
    const std::uint32_t details = trace_.jobs[job].details;
    return details == trace::TraceJob::nothing_more ? nullptr : by_details_[details];
  }

 private:
  const trace::Trace& trace_;
  std::vector<std::unique_ptr<Behaviour>> all_;
  std::vector<const Behaviour*> by_details_;  // empty: no job has a profile
};

}  // namespace sl::sim
