// How fast a kind of training is on other numbers of GPUs than one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/job.h"

namespace sl::sim {

// The model of a profile, the same object for the same name: "linear", "amdahl:0.9" (that part of the work is
// parallel), "speedup:1|1.8|2.5" (on 1, 2, 3 GPUs relative to one), or one of those measured in the Schedulearn thesis
// (policies.md 0.5): keras-mnist, tf-mnist, pytorch-mnist, mxnet-mnist, pytorch-resnet; their run times count as
// measured only where a trace says no other duration. Errors: "unknown-profile", "too-many-profiles" (beyond 10,000 in
// one process).
Result<std::shared_ptr<const JobModel>> find_profile(const std::string& name);

// A name find_profile knows a model of the same speeds by; empty: the model says nothing of speeds.
std::string profile_name(const JobModel& model);

struct MeasuredProfile {
  std::string name, title;
  std::vector<double> run_time_s;  // [g-1]: on g GPUs
};
const std::vector<MeasuredProfile>& measured_profiles();

// Speed on `gpus` GPUs relative to one. Beyond what is known it stays as it is there; without a model it is linear.
double speed_on(const JobModel* model, int gpus);

}  // namespace sl::sim
