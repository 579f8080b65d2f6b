#include "wire/profile.h"

#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "wire/json.h"
#include "wire/json_text.h"
#include "wire/utf8.h"

namespace sl::wire {
namespace {

namespace json = boost::json;

constexpr std::size_t profile_name_bytes_max = 128;
constexpr std::size_t rows_max = 10'000;
constexpr int count_max = 1'000'000;
constexpr int profile_gpus_max = 65'536;
constexpr std::int64_t bytes_max = std::int64_t{1} << 60;

Error bad_profile(std::string what, std::string pointer) {
  return invalid("bad-profile", std::move(what)).at(std::move(pointer));
}

// The checks of a profile; the first failure is kept.
class Checks {
 public:
  Checks& that(bool holds, const char* sentence, const std::string& pointer) {
    if (!holds && status_.ok()) status_ = bad_profile(sentence, pointer);
    return *this;
  }
  Checks& name(const std::string& text, const std::string& pointer) {
    bool plain = is_utf8(text) && text.size() <= profile_name_bytes_max;
    for (const char c : text) plain = plain && static_cast<unsigned char>(c) >= 0x20 && c != 0x7F;
    return that(plain, "a name has at most 128 bytes of UTF-8 and no control characters", pointer);
  }
  Checks& speed(double steps_per_s, bool may_be_zero, const std::string& pointer) {
    return that(steps_per_s <= 1e9 && (steps_per_s > 0 || (may_be_zero && steps_per_s == 0)),
                "a speed is a number above 0", pointer);
  }
  template <typename T>
  Checks& within(const std::optional<T>& value, T low, T high, const char* sentence, const std::string& pointer) {
    return that(!value || (*value >= low && *value <= high), sentence, pointer);
  }
  Checks& bytes(const std::optional<std::int64_t>& value, const std::string& pointer) {
    return within(value, std::int64_t{0}, bytes_max, "a size is a number of bytes", pointer);
  }
  Status finish() { return status_; }

 private:
  Status status_;
};

void check_totals(const TrainingProfile& p, Checks& checks) {
  const char* const count = "a count is a whole number from 1 to 1000000";
  const char* const duration = "a duration is a number of seconds, 0 or more";
  checks.that(!p.family.empty(), "a profile names its family of trainings", "/family")
      .name(p.family, "/family")
      .that(is_utf8(p.origin), "the origin is UTF-8 text", "/origin")
      .within(p.epochs, 1, count_max, count, "/epochs")
      .within(p.steps_per_epoch, 1, count_max * 1000, "a count is a whole number above 0", "/steps_per_epoch")
      .within(p.batch_size, 1, count_max, count, "/batch_size")
      .bytes(p.model_bytes, "/model_bytes")
      .bytes(p.largest_tensor_bytes, "/largest_tensor_bytes")
      .bytes(p.checkpoint_bytes, "/checkpoint_bytes")
      .within(p.checkpoint_s, 0.0, 1e9, duration, "/checkpoint_s")
      .within(p.restart_s, 0.0, 1e9, duration, "/restart_s")
      .that(!p.model_bytes || p.largest_tensor_bytes.value_or(0) <= *p.model_bytes,
            "the largest tensor is larger than the model", "/largest_tensor_bytes");
}

void check_speeds(const TrainingProfile& p, Checks& checks) {
  checks.that(!p.speeds.empty(), "a profile has at least one speed", "/speeds")
      .that(p.speeds.size() <= rows_max && p.shared.size() <= rows_max, "a profile has at most 10000 speeds",
            "/speeds");
  std::set<std::tuple<std::string, int, int, int>> configurations;
  for (std::size_t i = 0; i < p.speeds.size(); ++i) {
    const ProfileSpeed& s = p.speeds[i];
    const std::string at = "/speeds/" + std::to_string(i);
    checks.that(s.gpus >= 1 && s.gpus <= profile_gpus_max, "a training runs on 1 to 65536 GPUs", at + "/gpus")
        .that(s.servers >= 1 && s.servers <= s.gpus, "a training runs on 1 server to as many as it has GPUs",
              at + "/servers")
        .that(s.parameter_servers >= 0 && s.parameter_servers <= count_max, "there are 0 or more parameter servers",
              at + "/parameter_servers")
        .name(s.gpu_type, at + "/gpu_type")
        .speed(s.steps_per_s, false, at + "/steps_per_s")
        .within(s.gpu_utilization_pct, 0.0, 100.0, "a utilization is 0 to 100 %", at + "/gpu_utilization_pct")
        .bytes(s.gpu_memory_bytes, at + "/gpu_memory_bytes")
        .that(configurations.emplace(s.gpu_type, s.gpus, s.servers, s.parameter_servers).second,
              "this configuration has a speed already", at);
  }
}

void check_shared(const TrainingProfile& p, Checks& checks) {
  std::set<std::pair<std::string, std::string>> pairs;
  for (std::size_t i = 0; i < p.shared.size(); ++i) {
    const ProfileShared& s = p.shared[i];
    const std::string at = "/shared/" + std::to_string(i);
    checks.that(!s.with.empty(), "a speed of two trainings names the family of the other", at + "/with")
        .name(s.with, at + "/with")
        .name(s.gpu_type, at + "/gpu_type")
        .speed(s.steps_per_s, true, at + "/steps_per_s")
        .that(pairs.emplace(s.with, s.gpu_type).second, "this pair has a speed already", at);
  }
}

void check_loss(const ProfileLoss& loss, Checks& checks) {
  checks.that(loss.by_epoch.empty() != !loss.curve, "a loss is given by by_epoch or by curve, one of them", "/loss")
      .that(loss.by_epoch.size() <= count_max, "there are at most 1000000 epochs", "/loss/by_epoch")
      .that(loss.noise >= 0 && loss.noise <= 1, "the noise is 0 to 1, relative to the loss", "/loss/noise");
  for (std::size_t k = 0; k < loss.by_epoch.size(); ++k)
    checks.that(std::isfinite(loss.by_epoch[k]), "a loss is a number", "/loss/by_epoch/" + std::to_string(k));
  if (!loss.curve) return;
  const ProfileCurve& c = *loss.curve;
  const auto is_coefficient = [](double b) { return b >= 0 && b <= 1e12; };
  checks.that(is_coefficient(c.b0) && is_coefficient(c.b1) && is_coefficient(c.b2) && c.b0 + c.b1 > 0,
              "the coefficients of a curve are 0 or more, and b0 or b1 is above 0", "/loss/curve");
}

// ---- writing ----
json::value without_unknown(json::value value) {
  if (value.is_array()) {
    for (json::value& element : value.get_array()) element = without_unknown(std::move(element));
  } else if (value.is_object()) {
    json::object kept;
    for (auto& [key, element] : value.get_object()) {
      const bool is_unknown = element.is_null() || (element.is_array() && element.get_array().empty()) ||
                              (element.is_string() && element.get_string().empty());
      if (!is_unknown) kept[key] = without_unknown(std::move(element));
    }
    return kept;
  }
  return value;
}

std::string line_of(const json::value& value) {
  std::string text;
  if (value.is_object()) {
    for (const auto& [key, element] : value.get_object())
      text += (text.empty() ? "" : ", ") + json::serialize(json::value(key)) + ": " + line_of(element);
    return "{" + text + "}";
  }
  if (value.is_array()) {
    for (const json::value& element : value.get_array()) text += (text.empty() ? "" : ", ") + line_of(element);
    return "[" + text + "]";
  }
  return json_text(value);
}

// A list of objects takes one line per object.
std::string lines_of(const json::value& value) {
  if (!value.is_array() || !value.get_array().front().is_object()) return line_of(value);
  std::string text;
  for (const json::value& element : value.get_array())
    text += (text.empty() ? "" : ",") + ("\n    " + line_of(element));
  return "[" + text + "\n  ]";
}

}  // namespace

Status validate(const TrainingProfile& profile) {
  Checks checks;
  check_totals(profile, checks);
  check_speeds(profile, checks);
  check_shared(profile, checks);
  if (profile.loss) check_loss(*profile.loss, checks);
  return checks.finish();
}

Result<TrainingProfile> parse_profile(std::string_view text) {
  const Result<json::value> document = parse_json(text);
  if (!document.ok()) return document.error();
  const json::value* version =
      document->is_object() ? document->get_object().if_contains("schedulearn_profile") : nullptr;
  if (!version)
    return invalid("bad-profile", "this is not a profile: the key schedulearn_profile is missing")
        .hint("schedulearn profile run JOBFILE --gpus 1,2,4 writes one");
  if (*version != json::value(1))
    return invalid("profile-version", "this profile has version " + json::serialize(*version) + ", not 1")
        .hint("read it with a later schedulearn")
        .at("/schedulearn_profile");
  Result<TrainingProfile> profile = from_value<TrainingProfile>(*document);
  if (!profile.ok()) return profile;
  if (Status status = validate(*profile); !status.ok()) return status.error();
  return profile;
}

std::string profile_text(const TrainingProfile& profile) {
  std::string text;
  const json::value known = without_unknown(to_value(profile));
  for (const auto& [key, value] : known.get_object())
    text += (text.empty() ? "" : ",") + ("\n  " + json::serialize(json::value(key)) + ": " + lines_of(value));
  return "{" + text + "\n}\n";
}

std::vector<double> steps_per_s_by_gpus(const TrainingProfile& profile, std::string_view gpu_type, Span span) {
  std::map<int, double> measured = {{0, 0}};
  for (const ProfileSpeed& speed : profile.speeds) {
    const bool fits = span == Span::any || (speed.servers > 1) == (span == Span::several_servers);
    if (fits && speed.gpu_type == gpu_type) measured[speed.gpus] = std::max(measured[speed.gpus], speed.steps_per_s);
  }
  std::vector<double> table;
  for (auto low = measured.begin(), high = std::next(low); high != measured.end(); low = high++) {
    const double slope = (high->second - low->second) / (high->first - low->first);
    for (int gpus = low->first + 1; gpus <= high->first; ++gpus)
      table.push_back(low->second + slope * (gpus - low->first));
  }
  return table;
}

namespace {

GpuTypeSpeed speed_on(const std::vector<double>& steps_per_s, double reference, GpuTypeIndex gpu_type) {
  std::vector<double> relative;
  for (const double speed : steps_per_s) relative.push_back(speed / steps_per_s.front());
  return {gpu_type, steps_per_s.front() / reference, SpeedCurve(std::move(relative))};
}

void add_speeds(const TrainingProfile& profile, Names<GpuTypeIndex>& gpu_types, JobModel& model) {
  std::set<std::string_view> done;
  double reference = 0;
  for (const ProfileSpeed& row : profile.speeds) {
    if (!done.insert(row.gpu_type).second) continue;
    const auto steps_per_s = steps_per_s_by_gpus(profile, row.gpu_type, Span::any);
    if (reference == 0) reference = steps_per_s.front();
    const GpuTypeIndex type = row.gpu_type.empty() ? GpuTypeIndex() : gpu_types.intern(row.gpu_type);
    model.speed_by_gpu_type.push_back(speed_on(steps_per_s, reference, type));
  }
  model.speed_curve = model.speed_by_gpu_type.front().curve;
}

}  // namespace

JobModel job_model_of(const TrainingProfile& profile, Names<GpuTypeIndex>& gpu_types) {
  JobModel model;
  model.parameter_bytes = profile.model_bytes;
  model.largest_tensor_bytes = profile.largest_tensor_bytes;
  model.checkpoint_bytes = profile.checkpoint_bytes;
  model.batch_size = profile.batch_size;
  model.epochs_total = profile.epochs;
  if (profile.epochs && profile.steps_per_epoch)
    model.steps_total = std::int64_t{*profile.epochs} * *profile.steps_per_epoch;
  if (profile.restart_s) model.restart_cost = Duration::seconds(*profile.restart_s + profile.checkpoint_s.value_or(0));
  if (profile.speeds.empty()) return model;
  model.gpu_memory_bytes = profile.speeds.front().gpu_memory_bytes;
  model.gpu_utilization_pct = profile.speeds.front().gpu_utilization_pct;
  if (profile.speeds.front().parameter_servers > 0) model.mode = TrainingMode::parameter_server_sync;
  add_speeds(profile, gpu_types, model);
  return model;
}

std::optional<double> run_time_s(const TrainingProfile& profile, const JobModel& model, int gpus) {
  if (profile.speeds.empty() || gpus < 1) return std::nullopt;
  double steps = static_cast<double>(model.steps_total.value_or(0));
  if (model.epochs_total && profile.steps_per_epoch)
    steps = static_cast<double>(*model.epochs_total) * *profile.steps_per_epoch;
  if (!(steps > 0)) return std::nullopt;
  const double on_one = steps_per_s_by_gpus(profile, profile.speeds.front().gpu_type, Span::any).front();
  return steps / (on_one * model.speed_curve.speed_on(gpus));
}

}  // namespace sl::wire
