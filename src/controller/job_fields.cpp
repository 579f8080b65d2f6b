#include "controller/job_fields.h"

#include <algorithm>

#include "base/suggest.h"
#include "controller/views.h"
#include "wire/job_spec_text.h"

namespace sl::controller {
namespace {

namespace json = boost::json;

constexpr std::string_view spec_prefix = "spec.";

std::vector<std::string> known_fields() {
  std::vector<std::string> fields;
  const json::value job = wire::to_value(answers::Job());
  for (const auto& [key, value] : job.get_object()) fields.emplace_back(key);
  const json::value spec = wire::full_spec("{}");
  for (const auto& [key, value] : spec.as_object()) fields.push_back(std::string(spec_prefix) + std::string(key));
  return fields;
}

Error no_such_field(std::string_view field, const std::vector<std::string>& known) {
  Error error = invalid("bad-field", "a job has no field " + std::string(field)).at("/fields");
  const std::vector<std::string_view> candidates(known.begin(), known.end());
  if (const auto near = did_you_mean(field, candidates)) error.hints.push_back("did you mean " + *near + "?");
  return error;
}

}  // namespace

Result<JobFields> JobFields::parse(std::string_view text) {
  static const std::vector<std::string> known = known_fields();
  JobFields fields;
  while (!text.empty()) {
    const std::string_view field = text.substr(0, text.find(','));
    if (std::ranges::find(known, field) == known.end()) return no_such_field(field, known);
    const bool is_of_spec = field.starts_with(spec_prefix);
    std::vector<std::string>& keys = is_of_spec ? fields.spec_keys_ : fields.keys_;
    const std::string_view key = field.substr(is_of_spec ? spec_prefix.size() : 0);
    if (std::ranges::find(keys, key) == keys.end()) keys.emplace_back(key);
    text.remove_prefix(std::min(text.size(), field.size() + 1));
  }
  const auto wants = [&](const char* key) { return std::ranges::find(fields.keys_, key) != fields.keys_.end(); };
  fields.needs_spec_ = fields.are_all() || !fields.spec_keys_.empty() || wants("spec") || wants("labels");
  return fields;
}

json::object JobFields::of(json::object job) const {
  if (are_all()) return job;
  json::object chosen;
  const json::object* spec = job["spec"].if_object();
  if (spec && !spec_keys_.empty()) {
    json::object& part = chosen["spec"].emplace_object();
    for (const std::string& key : spec_keys_) part[key] = spec->contains(key) ? spec->at(key) : json::value(nullptr);
  }
  for (const std::string& key : keys_) chosen[key] = std::move(job[key]);
  return chosen;
}

}  // namespace sl::controller
