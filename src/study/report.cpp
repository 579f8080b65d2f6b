#include "study/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "base/suggest.h"
#include "wire/json_text.h"

namespace sl::study {
namespace {

constexpr const char* usual_metrics =
    "avg_jct_s,avg_wait_s,p50_jct_s,p95_jct_s,p99_jct_s,makespan_s,gpu_allocation_pct,gpu_utilization_pct,preemptions";

boost::json::value text(const std::string& text) {
  return text.empty() ? boost::json::value() : boost::json::value(text);
}
boost::json::value number(double value) { return std::isnan(value) ? boost::json::value() : boost::json::value(value); }
// Simulated times are whole microseconds; a mean of them has no more digits than that to tell.
boost::json::value seconds(double value) {
  constexpr double exact_below = 9e9;
  return number(std::abs(value) < exact_below ? std::round(value * 1e6) / 1e6 : value);
}

boost::json::object parameters_of(const PolicyChoice& choice) {
  boost::json::object parameters;
  for (const auto& [name, value] : choice.parameters) parameters[name] = value;
  return parameters;
}

boost::json::object to_json(const ExperimentRow& row) {
  boost::json::object object = {
      {"policy", row.policy.name}, {"parameters", parameters_of(row.policy)}, {"seed", row.seed}};
  object["load"] = row.arrivals.load > 0 ? boost::json::value(row.arrivals.load) : boost::json::value();
  for (const MetricInfo& metric : metric_infos()) {
    const double value = row.metrics.*metric.value;
    const bool is_whole = is_count(metric) && !std::isnan(value);
    object[metric.name] = is_whole                      ? boost::json::value(static_cast<std::int64_t>(value))
                          : metric.name.ends_with("_s") ? seconds(value)
                                                        : number(value);
  }
  object["avg_jct_bound_s"] = seconds(row.bounds ? row.bounds->avg_jct_s : no_figure);
  object["makespan_bound_s"] = seconds(row.bounds ? row.bounds->makespan_s : no_figure);
  object["standstill"] = text(row.standstill);
  object["first_unfinished"] = text(row.first_unfinished);
  object["jobs_file"] = text(row.jobs_file);
  object["events_file"] = text(row.events_file);
  return object;
}

std::string plain_text(const boost::json::value& value) {
  if (value.is_null()) return "";
  const std::string text = wire::json_text(value);
  return value.is_string() ? text.substr(1, text.size() - 2) : text;  // control characters stay escaped
}

boost::json::array to_json(const std::vector<PolicySwitchChoice>& switches) {
  boost::json::array list;
  for (const PolicySwitchChoice& each : switches)
    list.push_back({{"after_s", each.after.to_seconds()},
                    {"policy", each.policy.name},
                    {"parameters", parameters_of(each.policy)}});
  return list;
}

}  // namespace

bool is_count(const MetricInfo& metric) {
  constexpr std::string_view others[] = {"_s", "_s_lost", "_pct", "fairness", "slowdown"};
  return std::none_of(std::begin(others), std::end(others),
                      [&](std::string_view ending) { return metric.name.ends_with(ending); });
}

std::string_view without_unit(const MetricInfo& metric) {
  for (const std::string_view unit : {"_s", "_pct"}) {
    if (metric.name.ends_with(unit)) return metric.name.substr(0, metric.name.size() - unit.size());
  }
  return metric.name;
}

std::string parameters_text(const PolicyChoice& choice) {
  std::string text;
  for (const auto& [name, value] : choice.parameters) text += (text.empty() ? "" : " ") + name + "=" + value;
  return text;
}

Result<std::vector<const MetricInfo*>> find_metrics(const std::string& names) {
  std::vector<const MetricInfo*> found;
  if (("," + names + ",").find(",all,") != std::string::npos) {
    for (const MetricInfo& metric : metric_infos()) found.push_back(&metric);
    return found;
  }
  std::vector<std::string_view> known;
  for (const MetricInfo& metric : metric_infos()) known.push_back(metric.name);
  const std::string list = names.empty() ? usual_metrics : names;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t comma = std::min(list.find(',', at), list.size());
    const std::string_view name = std::string_view(list).substr(at, comma - at);
    const auto infos = metric_infos();
    const auto metric = std::find_if(infos.begin(), infos.end(),
                                     [&](const MetricInfo& m) { return m.name == name || without_unit(m) == name; });
    if (metric == infos.end()) {
      Error error = invalid("unknown-metric", "there is no metric " + std::string(name));
      if (const auto near = did_you_mean(name, known)) error.hints.push_back("did you mean " + *near + "?");
      error.hints.push_back("--metrics all shows every one");
      return error;
    }
    found.push_back(&*metric);
    at = comma + 1;
  }
  return found;
}

void print_plain(const ExperimentResult& result, std::ostream& out) {
  const auto print = [&](const boost::json::object& row, auto cell) {
    const char* before = "";
    for (const auto& field : row) out << std::exchange(before, "\t") << cell(field);
    out << '\n';
  };
  const auto name = [](const auto& field) { return std::string(field.key()); };
  print(to_json(ExperimentRow{}), name);
  for (const ExperimentRow& row : result.rows) {
    if (!row.done) continue;
    boost::json::object object = to_json(row);
    object["parameters"] = parameters_text(row.policy);
    print(object, [](const auto& field) { return plain_text(field.value()); });
  }
}

boost::json::object to_document(const ExperimentSettings& settings, const ExperimentResult& result,
                                const std::string& servers, const std::string& command) {
  boost::json::array rows;
  for (const ExperimentRow& row : result.rows) {
    if (!row.done) continue;
    rows.push_back(to_json(row));
  }
  boost::json::object impossible;
  for (const auto& [lack, such] : result.impossible) impossible[lack_name(lack)] = such.jobs;
  return {{"version", 1},
          {"program", std::string("schedulearn ") + SCHEDULEARN_VERSION},
          {"command", command},
          {"trace", settings.trace},
          {"servers", servers},
          {"gpus", settings.cluster.gpus()},
          {"jobs", result.jobs},
          {"left_out",
           {{"oversize", result.report.dropped_oversize},
            {"without_gpus", result.report.dropped_without_gpus},
            {"impossible", std::move(impossible)}}},
          {"switches", to_json(settings.switches)},
          {"interrupted", result.interrupted},
          {"results", std::move(rows)}};
}

}  // namespace sl::study
