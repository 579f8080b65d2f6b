#include "wire/job_spec_text.h"

#include "wire/json.h"
#include "wire/json_text.h"

namespace sl::wire {
namespace {

namespace json = boost::json;

json::object without(const json::object& defaults, json::object document) {
  json::object kept(document.storage());
  for (auto& [key, value] : document) {
    const json::value* usual = defaults.if_contains(key);
    if (usual && value == *usual) continue;
    if (usual && usual->is_object()) value = without(usual->get_object(), std::move(value.get_object()));
    kept.emplace(key, std::move(value));
  }
  return kept;
}

void lay_over(json::object& into, const json::object& stated) {
  for (const auto& [key, value] : stated) {
    json::value& place = into[key];
    if (place.is_object() && value.is_object()) {
      lay_over(place.get_object(), value.get_object());
    } else {
      place = value;
    }
  }
}

const json::object& defaults() {
  static const json::value document = to_value(JobSpec());
  return document.get_object();
}

json::object shown_by_default() {
  json::object document = defaults();
  document["training"] = json::object();
  document["gpus"].get_object().erase("allowed");
  document.erase("roles");
  document.erase("ports");
  return document;
}

}  // namespace

json::object stated(json::object spec) { return without(defaults(), std::move(spec)); }

std::string spec_text(const JobSpec& spec) {
  std::string text = json_text(stated(std::move(to_value(spec).get_object())));
  text.shrink_to_fit();
  return text;
}

json::value full_spec(std::string_view text) {
  const Result<json::value> stated = parse_json(text);
  if (!stated.ok() || !stated->is_object()) return stated.ok() ? *stated : json::value(nullptr);
  static const json::object shown = shown_by_default();
  json::object whole = shown;
  lay_over(whole, stated->get_object());
  return whole;
}

}  // namespace sl::wire
