// Tells failures of GPUs from those of jobs: an attempt that failed by itself is only reported after a look at the GPUs
// that began after its end. If one that the attempt had is gone by then, the failure is a GPU's ("gpu_error").
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "agent/gpu_watch.h"
#include "agent/launcher_wire.h"
#include "base/time.h"

namespace sl::agent {

// An end with a GPU as the reason, if the attempt failed by itself and had a GPU that is not among these. Pure.
LauncherState explained_by(const std::vector<wire::GpuReport>& gpus, LauncherState state);

class FailedEnds {
 public:
  // `gpus` must outlive it. `tell` gets each end that was held back, once.
  FailedEnds(GpuWatch& gpus, std::function<void(const LauncherState&)> tell) : gpus_(gpus), tell_(std::move(tell)) {}

  // The same for an end while no agent was running, by the latest look.
  LauncherState explain(const LauncherState& state) const;
  // Holds back the end of an attempt that has failed, for at most `patience`. False: there is nothing to look for.
  bool hold(const LauncherState& state, Instant now);
  // Tells the ends that have been looked at; a few times a second.
  void tick(Instant now);
  // The launcher has gone; the next one tells the same ends again.
  void forget_all() { held_.clear(); }

 private:
  static constexpr Duration patience = Duration::whole_seconds(3);
  struct Held {
    LauncherState state;
    Instant since;
  };
  GpuWatch& gpus_;
  std::function<void(const LauncherState&)> tell_;
  std::map<std::string, Held> held_;  // by key
};

}  // namespace sl::agent
