#include "wire/costs.h"

#include <cmath>
#include <set>

#include "wire/json.h"

namespace sl::wire {
namespace {

constexpr double longest_s = 1e9;

bool is_sound(int count, double seconds) {
  return count >= 0 && std::isfinite(seconds) && seconds >= 0 && seconds <= longest_s;
}

}  // namespace

Result<CostsDocument> parse_costs(std::string_view text) {
  const auto value = parse_json(text);
  if (!value.ok()) return value.error();
  auto read = from_value<CostsDocument>(*value, Unknown::reject);
  if (!read.ok()) return read.error();
  for (const std::string key : {"schedulearn_costs", "families"}) {
    if (!value->get_object().contains(key))
      return invalid("bad-costs", "these are no costs: the key " + key + " is missing").at("/" + key);
  }
  if (read->schedulearn_costs != 1)
    return invalid("costs-version", "these costs are of version " + std::to_string(read->schedulearn_costs) +
                                        "; this Schedulearn reads version 1")
        .at("/schedulearn_costs");
  std::set<std::string> families;
  for (const FamilyCosts& of : read->families) {
    const bool sound = is_sound(of.stops, of.stop_s) && is_sound(of.starts, of.start_s) &&
                       is_sound(of.starts, of.repeated_s) && is_sound(of.freezes, of.freeze_s) &&
                       is_sound(of.thaws, of.thaw_s);
    if (!sound)
      return invalid("bad-costs", "a number or a time of " + of.family + " is below 0 or too large").at("/families");
    if (!families.insert(of.family).second) return invalid("bad-costs", of.family + " is there twice").at("/families");
  }
  return std::move(*read);
}

FamilyCosts mean_of(const std::vector<FamilyCosts>& families) {
  FamilyCosts mean;
  const auto add = [](int& count, double& mean_s, int more, double seconds) {
    if (more > 0) mean_s += (seconds - mean_s) * more / (count + more);
    count += more;
  };
  for (const FamilyCosts& of : families) {
    int starts = mean.starts;
    add(starts, mean.repeated_s, of.starts, of.repeated_s);
    add(mean.starts, mean.start_s, of.starts, of.start_s);
    add(mean.stops, mean.stop_s, of.stops, of.stop_s);
    add(mean.freezes, mean.freeze_s, of.freezes, of.freeze_s);
    add(mean.thaws, mean.thaw_s, of.thaws, of.thaw_s);
  }
  return mean;
}

}  // namespace sl::wire
