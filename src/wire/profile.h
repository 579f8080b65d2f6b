// Measurements of a kind of training (a family): its speed in several configurations, the load on its GPUs, the cost of
// a restart, how its loss falls. `schedulearn profile run` writes such a file, the controller keeps one per family, and
// the simulator reads the same file. docs/formats/profile.md describes every key.
#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/job.h"
#include "model/names.h"

namespace sl::wire {

struct ProfileSpeed {  // alone on its GPUs
  int gpus = 1;        // workers, one per GPU
  int servers = 1;     // machines that have these GPUs
  std::string gpu_type;
  int parameter_servers = 0;  // 0: all-reduce
  double steps_per_s = 0;
  std::optional<double> gpu_utilization_pct;
  std::optional<std::int64_t> gpu_memory_bytes;  // used on each GPU
  friend bool operator==(const ProfileSpeed&, const ProfileSpeed&) = default;
};
BOOST_DESCRIBE_STRUCT(ProfileSpeed, (),
                      (gpus, servers, gpu_type, parameter_servers, steps_per_s, gpu_utilization_pct, gpu_memory_bytes))

struct ProfileShared {  // on one GPU together with one training of another family
  std::string with;
  std::string gpu_type;
  double steps_per_s = 0;  // of this training, not of the other; 0: the two do not run together
  friend bool operator==(const ProfileShared&, const ProfileShared&) = default;
};
BOOST_DESCRIBE_STRUCT(ProfileShared, (), (with, gpu_type, steps_per_s))

struct ProfileCurve {  // loss after epoch k, from 1: 1 / (b0 * k + b1) + b2 (policies.md 10.2)
  double b0 = 0, b1 = 0, b2 = 0;
  friend bool operator==(const ProfileCurve&, const ProfileCurve&) = default;
};
BOOST_DESCRIBE_STRUCT(ProfileCurve, (), (b0, b1, b2))

struct ProfileLoss {             // one of the two
  std::vector<double> by_epoch;  // mean loss of each epoch
  std::optional<ProfileCurve> curve;
  double noise = 0;  // standard deviation of the losses around the curve, relative to the loss
  friend bool operator==(const ProfileLoss&, const ProfileLoss&) = default;
};
BOOST_DESCRIBE_STRUCT(ProfileLoss, (), (by_epoch, curve, noise))

struct TrainingProfile {
  int schedulearn_profile = 1;  // version of the format
  std::string family;
  std::string origin;         // source of the figures: a run, a paper, a data set and its licence
  std::optional<int> epochs;  // that such a training usually takes
  std::optional<int> steps_per_epoch;
  std::optional<int> batch_size;  // samples in a step, over all workers
  std::optional<std::int64_t> model_bytes, largest_tensor_bytes, checkpoint_bytes;
  std::optional<double> checkpoint_s;  // to write a checkpoint
  std::optional<double> restart_s;     // from the start of an attempt to its first step
  std::vector<ProfileSpeed> speeds;    // at least one; durations refer to the first
  std::vector<ProfileShared> shared;
  std::optional<ProfileLoss> loss;
  friend bool operator==(const TrainingProfile&, const TrainingProfile&) = default;
};
BOOST_DESCRIBE_STRUCT(TrainingProfile, (),
                      (schedulearn_profile, family, origin, epochs, steps_per_epoch, batch_size, model_bytes,
                       largest_tensor_bytes, checkpoint_bytes, checkpoint_s, restart_s, speeds, shared, loss))

// Errors name the place in the text: "malformed-json", "unknown-key", "wrong-type", "profile-version" (made by a later
// Schedulearn), "bad-profile" (an impossible value, or a configuration that appears twice).
Result<TrainingProfile> parse_profile(std::string_view text);
// Error "bad-profile" as above; also for profiles that were not read from text.
Status validate(const TrainingProfile& profile);
// The text, one speed per line, without unknown values. parse_profile() reads the same profile back.
std::string profile_text(const TrainingProfile& profile);

// Steps per second on 1, 2, … GPUs of a type, up to the largest measured number; empty: nothing was measured.
// Interpolated linearly between measured numbers of GPUs, proportional below the first. `any`: the fastest, wherever
// the GPUs are.
enum class Span { any, one_server, several_servers };
std::vector<double> steps_per_s_by_gpus(const TrainingProfile& profile, std::string_view gpu_type, Span span);

// What policies learn from a stored profile about jobs of its family.
JobModel job_model_of(const TrainingProfile& profile, Names<GpuTypeIndex>& gpu_types);

// Seconds that such a training runs on `gpus` GPUs of the profile's first type; unknown unless the model states the
// number of steps or epochs.
std::optional<double> run_time_s(const TrainingProfile& profile, const JobModel& model, int gpus);

}  // namespace sl::wire
