#include "sim/profiles.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <mutex>

#include "base/suggest.h"

namespace sl::sim {
namespace {

constexpr int gpus_known = 1024;  // of profiles given by a formula

std::shared_ptr<const JobModel> make_formula(double parallel) {
  auto model = std::make_shared<JobModel>();
  for (int g = 1; g <= gpus_known; ++g) model->speedup.push_back(1 / ((1 - parallel) + parallel / g));
  return model;
}

std::shared_ptr<const JobModel> make_measured(const MeasuredProfile& profile) {
  auto model = std::make_shared<JobModel>();
  for (const double time : profile.run_time_s) model->speedup.push_back(profile.run_time_s.front() / time);
  return model;
}

// Null: there is no such profile.
std::shared_ptr<const JobModel> make_profile(const std::string& name) {
  if (name == "linear") return make_formula(1);
  if (name.starts_with("amdahl:")) {
    double parallel = -1;
    const char* end = name.data() + name.size();
    const auto [stopped, error] = std::from_chars(name.data() + 7, end, parallel);
    if (error != std::errc() || stopped != end || !(parallel >= 0 && parallel <= 1)) return nullptr;
    return make_formula(parallel);
  }
  for (const MeasuredProfile& profile : measured_profiles()) {
    if (profile.name == name) return make_measured(profile);
  }
  return nullptr;
}

Error unknown(const std::string& name) {
  std::vector<std::string_view> names = {"linear", "amdahl:0.9"};
  for (const MeasuredProfile& profile : measured_profiles()) names.push_back(profile.name);
  Error error = invalid("unknown-profile", "there is no profile " + name);
  std::string list;
  for (const std::string_view known : names) list += (list.empty() ? "" : ", ") + std::string(known);
  error.notes.push_back("the profiles are " + list);
  if (const auto near = did_you_mean(name, names)) error.hints.push_back("did you mean " + *near + "?");
  return error;
}

}  // namespace

Result<std::shared_ptr<const JobModel>> find_profile(const std::string& name) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<const JobModel>> made;
  const std::lock_guard lock(mutex);
  auto& model = made[name];
  if (!model) model = make_profile(name);
  if (!model) {
    made.erase(name);
    return unknown(name);
  }
  return model;
}

const std::vector<MeasuredProfile>& measured_profiles() {
  static const std::vector<MeasuredProfile> profiles = {
      {"keras-mnist", "TensorFlow Keras MNIST", {107, 69, 52.3, 45}},
      {"tf-mnist", "TensorFlow MNIST", {67, 51, 42, 37}},
      {"pytorch-mnist", "PyTorch MNIST", {157, 89, 66, 54}},
      {"mxnet-mnist", "MXNet MNIST", {28.6, 24.3, 22.2, 21.5}},
      {"pytorch-resnet", "PyTorch ResNet", {312.9, 250.4, 216.2, 194.6}},
  };
  return profiles;
}

double speed_on(const JobModel* model, int gpus) {
  if (gpus <= 0) return 0;
  if (!model || model->speedup.empty()) return gpus;
  return model->speedup[std::min<std::size_t>(static_cast<std::size_t>(gpus), model->speedup.size()) - 1];
}

}  // namespace sl::sim
