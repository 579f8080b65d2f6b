#include "trace/profiles.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <mutex>
#include <utility>

#include "base/suggest.h"
#include "trace/published_profiles.h"
#include "wire/error.h"
#include "wire/read_file.h"

namespace sl::trace {
namespace {

constexpr int gpus_known = 1024;  // for profiles given by a formula

std::shared_ptr<const JobModel> model_of(SpeedCurve curve) {
  auto model = std::make_shared<JobModel>();
  model->speed_curve = std::move(curve);
  return model;
}

std::shared_ptr<const JobModel> make_formula(double parallel) {
  std::vector<double> speeds;
  for (int g = 1; g <= gpus_known; ++g) speeds.push_back(g == 1 ? 1 : 1 / ((1 - parallel) + parallel / g));
  return model_of(SpeedCurve(std::move(speeds)));
}

// "1|1.8|2.5"; null: the numbers are not all positive, or the first is not 1.
std::shared_ptr<const JobModel> make_listed(std::string_view text) {
  std::vector<double> speeds;
  while (speeds.size() < gpus_known) {
    double speed = 0;
    const auto [stopped, error] = std::from_chars(text.data(), text.data() + text.size(), speed);
    if (error != std::errc() || !(speed > 0 && speed <= 1e6)) return nullptr;
    if (speeds.empty() && speed != 1) return nullptr;
    speeds.push_back(speed);
    text.remove_prefix(static_cast<std::size_t>(stopped - text.data()));
    if (text.empty()) return model_of(SpeedCurve(std::move(speeds)));
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
    if (profile.name == name) return model_of(SpeedCurve::from_run_times(profile.run_time_s));
  }
  return nullptr;
}

// All profiles that have been requested so far.
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
  for (const auto& [family, profile] : published_profiles()) names.push_back(family);
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
        .note("a profile describes a kind of training, not a single job");
  }
  known.models.emplace(name, model);
  return model;
}

std::string profile_name(const JobModel& model) {
  if (!model.speed_curve.is_measured()) return "";
  Cache& known = cache();
  const std::lock_guard lock(known.mutex);
  for (const auto& [name, made] : known.models) {
    const bool is_same = made->speed_curve == model.speed_curve && made->speed_by_gpu_type == model.speed_by_gpu_type;
    if (made.get() == &model || is_same) return name;
  }
  std::string list = "speedup:";
  for (const double speed : model.speed_curve.table()) {
    char digits[32];
    if (list.back() != ':') list.push_back('|');
    list.append(digits, std::to_chars(digits, digits + sizeof digits, speed).ptr);
  }
  return list;
}

const Profiles& published_profiles() {
  static const Profiles all = [] {
    Profiles profiles;
    for (auto* const make : {gavel_profiles, pollux_profiles}) {
      for (const wire::TrainingProfile& profile : make())
        profiles.emplace(profile.family, std::make_shared<const wire::TrainingProfile>(profile));
    }
    return profiles;
  }();
  return all;
}

std::shared_ptr<const wire::TrainingProfile> find_training(std::string_view family, const Profiles& given) {
  for (const Profiles* profiles : {&given, &published_profiles()}) {
    if (const auto at = profiles->find(family); at != profiles->end()) return at->second;
  }
  return nullptr;
}

Result<Profiles> read_profiles(const std::vector<std::string>& paths) {
  Profiles profiles;
  for (const std::string& path : paths) {
    const Result<std::string> text = wire::read_file(path, wire::document_bytes_max);
    if (!text.ok()) return text.error();
    Result<wire::TrainingProfile> profile = wire::parse_profile(*text);
    if (!profile.ok()) return wire::in_file(profile.error(), path);
    auto shared = std::make_shared<const wire::TrainingProfile>(std::move(*profile));
    if (!profiles.emplace(shared->family, shared).second)
      return invalid("duplicate-profile", "two files are profiles of " + shared->family).note("the second is " + path);
  }
  return profiles;
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

}  // namespace sl::trace
