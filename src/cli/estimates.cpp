#include "cli/estimates.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <boost/json.hpp>
#include <cmath>

#include "base/text.h"
#include "cli/context.h"
#include "policies/registry.h"
#include "sim/requests.h"
#include "study/loss_scores.h"
#include "study/range_scores.h"
#include "study/run_time_scores.h"
#include "study/speed_scores.h"
#include "trace/workloads.h"
#include "wire/json_text.h"

namespace sl::cli {
namespace {

boost::json::value json_number(const std::optional<double>& number) {
  return number && std::isfinite(*number) ? boost::json::value(*number) : boost::json::value(nullptr);
}

void add_rows(const study::ScoreTable& table, boost::json::array& items) {
  for (const auto& [when, score] : table.rows)
    items.push_back({{"title", table.title},
                     {"when", when},
                     {"method", score.method},
                     {"questions", score.questions},
                     {"median_error", json_number(score.error)},
                     {"range_covers", json_number(score.covers)},
                     {"range_width", json_number(score.width)},
                     {"unanswered", score.unanswered}});
}

std::string error_text(double error) {
  if (std::isnan(error)) return "–";
  return std::isfinite(error) ? fmt::format("{:.1f} %", 100 * error) : "∞";
}

std::string width_text(const std::optional<double>& width) {
  if (!width) return "–";
  return std::isfinite(*width) ? fmt::format("{:.2f}", *width) : "∞";
}

void print_scores(const study::ScoreTable& table, std::ostream& out) {
  fmt::print(out, "{}\n  {:<11}{:<28}{:>9}{:>9}{:>8}{:>11}{:>12}\n", table.title, "WHEN", "METHOD", "ERROR", "COVERED",
             "WIDTH", "QUESTIONS", "UNANSWERED");
  for (const auto& [when, score] : table.rows)
    fmt::print(out, "  {:<11}{:<28}{:>9}{:>9}{:>8}{:>11}{:>12}\n", when, score.method, error_text(score.error),
               score.covers ? fmt::format("{:.0f} %", 100 * *score.covers) : "–", width_text(score.width),
               score.questions, score.unanswered);
  fmt::print(out, "\n");
}

void print_all(const std::vector<study::ScoreTable>& tables, bool json, std::ostream& out) {
  boost::json::array items;
  for (const study::ScoreTable& table : tables) json ? add_rows(table, items) : print_scores(table, out);
  if (json) {
    out << wire::json_text(list_of(std::move(items))) << '\n';
    return;
  }
  fmt::print(out,
             "Error: median of |predicted - true| / true.  Covered: how often the 80 % range held the truth.\n"
             "Width: median of (high - low) / predicted.\n");
}

}  // namespace

Status estimates_losses(const EstimatesCommand& command, std::ostream& out) {
  auto trainings = study::read_loss_trainings(command.source);
  if (!trainings.ok()) return trainings.error();
  if (command.half != "all")
    std::erase_if(*trainings, [&](const study::LossTraining& training) {
      return !training.half.empty() && training.half != command.half;
    });
  print_all(study::score_losses(*trainings, command.seen), command.json, out);
  return {};
}

Status estimates_run_times(const EstimatesCommand& command, std::ostream& out) {
  const auto trace = trace::open_trace(command.source, 1, {});
  if (!trace.ok()) return trace.error();
  print_all({study::score_run_times(*trace)}, command.json, out);
  return {};
}

Status estimates_ranges(const EstimatesCommand& command, std::ostream& out) {
  auto trace = trace::open_trace(command.source, 1, {});
  if (!trace.ok()) return trace.error();
  auto cluster = sim::read_cluster(command.servers);
  if (!cluster.ok()) return cluster.error();
  if (auto made = make_policy(command.policy); !made.ok()) return made.error();
  sim::leave_out_impossible(*trace, *cluster);
  if (command.jobs > 0 && trace->jobs.size() > command.jobs) trace->jobs.resize(command.jobs);
  if (trace->jobs.empty()) return invalid("empty-trace", "no job of this trace can run on these servers");
  study::RangeStudy study{.cluster = std::move(*cluster),
                          .policy_name = command.policy,
                          .make_policy = [&] { return std::move(*make_policy(command.policy)); },
                          .moments = command.moments};
  const auto scores = study::score_ranges(*trace, study);
  if (command.json) {
    boost::json::array items;
    for (const study::RangeScore& score : scores)
      items.push_back(boost::json::object{{"target", to_string(score.target)},
                                          {"horizon", score.horizon.empty() ? "all" : score.horizon},
                                          {"method", score.method},
                                          {"ranges", score.ranges},
                                          {"jobs", score.jobs},
                                          {"covered", score.covered},
                                          {"early", score.early},
                                          {"late", score.late},
                                          {"width_s", score.width_s}});
    out << wire::json_text(list_of(std::move(items))) << '\n';
    return {};
  }
  fmt::print(out, "{} job{} on {} under {}, asked at {} moments with what was known then\n", trace->jobs.size(),
             trace->jobs.size() == 1 ? "" : "s", command.servers, command.policy, command.moments);
  fmt::print(out, "  {:<8}{:<14}{:<24}{:>8}{:>8}{:>9}{:>8}{:>8}{:>12}\n", "OF", "AHEAD", "METHOD", "RANGES", "JOBS",
             "COVERED", "EARLY", "LATE", "WIDTH");
  for (const study::RangeScore& score : scores)
    fmt::print(out, "  {:<8}{:<14}{:<24}{:>8}{:>8}{:>7.0f} %{:>6.0f} %{:>6.0f} %{:>12}\n", to_string(score.target),
               score.horizon.empty() ? "all" : score.horizon, score.method, score.ranges, score.jobs,
               100 * score.covered, 100 * score.early, 100 * score.late, duration_text(score.width_s));
  fmt::print(out,
             "Covered: how often the 80 % range held the truth.  Width: median of p90 - p10.\n"
             "Jobs: how many the ranges are about. Those of one job hold or fail together, so few jobs say little.\n");
  return {};
}

Status estimates_speeds(const EstimatesCommand& command, std::ostream& out) {
  print_all({study::score_speeds()}, command.json, out);
  return {};
}

}  // namespace sl::cli
