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

// "1|1.8|2.5"; null: not positive numbers, or the first is not 1.
std::shared_ptr<const JobModel> make_listed(std::string_view text) {
  auto model = std::make_shared<JobModel>();
  while (model->speedup.size() < gpus_known) {
    double speed = 0;
    const auto [stopped, error] = std::from_chars(text.data(), text.data() + text.size(), speed);
    if (error != std::errc() || !(speed > 0 && speed <= 1e6)) return nullptr;
    if (model->speedup.empty() && speed != 1) return nullptr;
    model->speedup.push_back(speed);
    text.remove_prefix(static_cast<std::size_t>(stopped - text.data()));
    if (text.empty()) return model;
    if (text.front() != '|') return nullptr;
    text.remove_prefix(1);
  }
  return nullptr;
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
  if (name.starts_with("speedup:")) return make_listed(std::string_view(name).substr(8));
  for (const MeasuredProfile& profile : measured_profiles()) {
    if (profile.name == name) return make_measured(profile);
  }
  return nullptr;
}

// All that were ever asked for.
struct Cache {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<const JobModel>> models;
};
constexpr std::size_t profiles_max = 10'000;

Cache& cache() {
  static Cache made;
  return made;
}

Error unknown(const std::string& name) {
  std::vector<std::string_view> names = {"linear", "amdahl:0.9", "speedup:1|1.8"};
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
  Cache& known = cache();
  const std::lock_guard lock(known.mutex);
  if (const auto at = known.models.find(name); at != known.models.end()) return at->second;
  std::shared_ptr<const JobModel> model = make_profile(name);
  if (!model) return unknown(name);
  if (known.models.size() >= profiles_max) {
    return invalid("too-many-profiles", "there are more than 10000 different profiles")
        .note("a profile is a kind of training, not a job");
  }
  known.models.emplace(name, model);
  return model;
}

std::string profile_name(const JobModel& model) {
  if (model.speedup.empty()) return "";
  Cache& known = cache();
  const std::lock_guard lock(known.mutex);
  for (const auto& [name, made] : known.models) {
    if (made.get() == &model) return name;
  }
  std::string list = "speedup:";
  for (const double speed : model.speedup) {
    char digits[32];
    if (list.back() != ':') list.push_back('|');
    list.append(digits, std::to_chars(digits, digits + sizeof digits, speed).ptr);
  }
  return list;
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
