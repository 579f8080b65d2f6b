// How fast a kind of training is on different numbers of GPUs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "trace/trace.h"

namespace sl::trace {

// The model of a profile, the same object for the same name: "linear", "amdahl:0.9" (the parallel fraction of the
// work), "speedup:1|1.8|2.5" (speed on 1, 2, 3 GPUs relative to one), or one of those measured in the Schedulearn
// thesis (policies.md 0.5): keras-mnist, tf-mnist, pytorch-mnist, mxnet-mnist, pytorch-resnet. Errors:
// "unknown-profile", "too-many-profiles" (beyond 10,000 in one process).
Result<std::shared_ptr<const JobModel>> find_profile(const std::string& name);

// The name of a profile with the same speeds; empty: the model's speeds were not measured.
std::string profile_name(const JobModel& model);

// The profile of a family: from `given`, else one that comes with Schedulearn (gavel-…, pollux-…). Null: there is none.
std::shared_ptr<const wire::TrainingProfile> find_training(std::string_view family, const Profiles& given);
const Profiles& published_profiles();

// Reads profile files (docs/formats/profile.md). Errors: those of read_text and parse_profile, "duplicate-profile".
Result<Profiles> read_profiles(const std::vector<std::string>& paths);

struct MeasuredProfile {
  std::string name, title;
  std::vector<double> run_time_s;  // [g-1]: on g GPUs
};
const std::vector<MeasuredProfile>& measured_profiles();

}  // namespace sl::trace
