#include "controller/interruption_costs.h"

#include <algorithm>

#include "wire/json.h"

namespace sl::controller {
namespace {

constexpr std::string_view costs_prefix = "costs/";  // + the family
constexpr std::size_t families_max = 10'000;
constexpr int weight_max = 20;  // the means follow about the latest 20

}  // namespace

bool InterruptionCosts::is_stop(JobState from, JobState to) {
  const bool stops = from == JobState::stopping || is_moving(from);
  return stops && (to == JobState::pending || to == JobState::held || to == JobState::starting);
}

wire::FamilyCosts* InterruptionCosts::at(const std::string& family) {
  const auto known = by_family_.find(family);
  if (known != by_family_.end()) return &known->second;
  if (by_family_.size() >= families_max) return nullptr;
  wire::FamilyCosts& made = by_family_[family];
  made.family = family;
  return &made;
}

InterruptionCosts::Row InterruptionCosts::add(const std::string& family, Count count,
                                              std::initializer_list<std::pair<Mean, double>> measured) {
  wire::FamilyCosts* costs = at(family);
  if (!costs) return std::nullopt;
  const int weight = std::min(++(costs->*count), weight_max);
  for (const auto& [mean, seconds] : measured) costs->*mean += (std::max(0.0, seconds) - costs->*mean) / weight;
  return store::SettingRow{std::string(costs_prefix) + costs->family, wire::write_json(*costs)};
}

InterruptionCosts::Row InterruptionCosts::on_state(const std::string& family, JobState from, JobState to,
                                                   double seconds) {
  const bool was_resized_in_place = from == JobState::resizing && to == JobState::running;
  if (is_stop(from, to) || was_resized_in_place)
    return add(family, &wire::FamilyCosts::stops, {{&wire::FamilyCosts::stop_s, seconds}});
  if (from == JobState::stopping && to == JobState::suspended)
    return add(family, &wire::FamilyCosts::freezes, {{&wire::FamilyCosts::freeze_s, seconds}});
  return std::nullopt;
}

InterruptionCosts::Row InterruptionCosts::on_thawed(const std::string& family, double seconds) {
  return add(family, &wire::FamilyCosts::thaws, {{&wire::FamilyCosts::thaw_s, seconds}});
}

InterruptionCosts::Row InterruptionCosts::on_continued(const std::string& family, double start_s, double repeated_s) {
  return add(family, &wire::FamilyCosts::starts,
             {{&wire::FamilyCosts::start_s, start_s}, {&wire::FamilyCosts::repeated_s, repeated_s}});
}

void InterruptionCosts::restore(const std::vector<store::SettingRow>& settings) {
  for (const store::SettingRow& row : settings) {
    if (!row.key.starts_with(costs_prefix)) continue;
    auto known = wire::read_json<wire::FamilyCosts>(row.value, wire::Unknown::ignore);
    if (known.ok()) by_family_[row.key.substr(costs_prefix.size())] = std::move(*known);
  }
}

const wire::FamilyCosts* InterruptionCosts::find(const std::string& family) const {
  const auto known = by_family_.find(family);
  return known == by_family_.end() ? nullptr : &known->second;
}

wire::CostsDocument InterruptionCosts::all() const {
  wire::CostsDocument document;
  for (const auto& [family, costs] : by_family_) document.families.push_back(costs);
  return document;
}

}  // namespace sl::controller
