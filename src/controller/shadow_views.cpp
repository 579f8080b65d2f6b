#include "controller/shadow_views.h"

#include <algorithm>

#include "wire/json.h"

namespace sl::controller {
namespace {

double seconds(std::int64_t us) { return static_cast<double>(us) / 1e6; }
double total_s(const store::RegretRow& row) { return seconds(row.mean_us) * static_cast<double>(row.jobs); }

answers::FoundRegret view_of(const store::RegretRow& row) {
  return {{row.at_us},
          {row.since_us},
          row.in_force,
          row.shadow,
          static_cast<std::size_t>(row.jobs),
          static_cast<std::size_t>(row.draws),
          seconds(row.in_force_us),
          seconds(row.shadow_us),
          seconds(row.mean_us),
          seconds(row.low_us),
          seconds(row.high_us)};
}

// Those of one policy, oldest first.
std::vector<const store::RegretRow*> rows_of(const Shadow& shadow) {
  std::vector<const store::RegretRow*> rows;
  if (shadow.found().empty()) return rows;
  const std::string name = shadow.followed() ? shadow.followed()->policy.name : shadow.found().back().shadow;
  for (const store::RegretRow& row : shadow.found()) {
    if (row.shadow == name) rows.push_back(&row);
  }
  return rows;
}

// The last one of each window counts.
double total_up_to(const std::vector<const store::RegretRow*>& rows, std::size_t last) {
  double sum_s = total_s(*rows[last]);
  for (std::size_t i = 0; i < last; ++i) {
    if (rows[i]->since_us != rows[i + 1]->since_us) sum_s += total_s(*rows[i]);
  }
  return sum_s;
}

}  // namespace

std::string shadow_name(const Shadow& shadow) { return shadow.followed() ? shadow.followed()->policy.name : ""; }

answers::ShadowPolicy shadow_view(const Shadow& shadow) {
  answers::ShadowPolicy view;
  if (const auto& followed = shadow.followed()) {
    view.name = followed->policy.name;
    for (const auto& [name, value] : followed->policy.parameters) view.parameters.members[name] = value;
    view.since = wire::Time{followed->since_us};
    view.by = followed->by;
  }
  const auto rows = rows_of(shadow);
  if (rows.empty()) return view;
  view.latest = view_of(*rows.back());
  view.total_s = total_up_to(rows, rows.size() - 1);
  view.windows = 1;
  for (std::size_t i = 1; i < rows.size(); ++i) view.windows += rows[i]->since_us != rows[i - 1]->since_us;
  return view;
}

answers::SeriesDocument shadow_series(const Shadow& shadow, std::size_t points) {
  const auto rows = rows_of(shadow);
  answers::SeriesDocument view;
  const std::map<std::string, std::string> labels =
      rows.empty() ? std::map<std::string, std::string>()
                   : std::map<std::string, std::string>{{"shadow", rows.back()->shadow}};
  for (const char* name : {"regret_s", "regret_p10_s", "regret_p90_s", "total_s"})
    view.series.push_back({name, labels, {}});
  if (rows.empty()) return view;
  const std::int64_t from = rows.front()->at_us, to = rows.back()->at_us;
  const std::int64_t step = std::max<std::int64_t>(1'000'000, (to - from) / static_cast<std::int64_t>(points) + 1);
  view.from = {from}, view.to = {to};
  view.step_s = seconds(step);
  const auto steps = static_cast<std::size_t>((to - from) / step + 1);
  for (answers::SeriesLine& line : view.series) line.values.resize(steps);
  double before_s = 0;  // of the windows that are over
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i > 0 && rows[i]->since_us != rows[i - 1]->since_us) before_s += total_s(*rows[i - 1]);
    const auto at = static_cast<std::size_t>((rows[i]->at_us - from) / step);
    view.series[0].values[at] = seconds(rows[i]->mean_us);
    view.series[1].values[at] = seconds(rows[i]->low_us);
    view.series[2].values[at] = seconds(rows[i]->high_us);
    view.series[3].values[at] = before_s + total_s(*rows[i]);
  }
  return view;
}

}  // namespace sl::controller
