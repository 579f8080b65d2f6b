#include "study/loss_scores.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/csv.h"
#include "estimate/convergence.h"
#include "estimate/epochs_left.h"
#include "estimate/loss_forecast.h"
#include "trace/text_file.h"

namespace sl::study {
namespace {

constexpr double never_reached = std::numeric_limits<double>::infinity();

std::optional<std::vector<double>> parse_losses(std::string_view text) {
  std::vector<double> losses;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('|', at), text.size());
    double loss = 0;
    const auto [rest, code] = std::from_chars(text.data() + at, text.data() + end, loss);
    if (code != std::errc{} || rest != text.data() + end || !(loss > 0) || !std::isfinite(loss)) return std::nullopt;
    losses.push_back(loss);
    at = end + 1;
  }
  return losses;
}

// A yardstick is a curve; its answers are where it leads.
struct Yardstick {
  std::optional<ConvergenceCurve> single;
  std::optional<LossCurve> line;

  double loss_at(double epoch) const { return single ? single->loss_at(epoch) : line->loss_at(epoch); }
  double left(double target, double seen) const {
    if (single) {
      const auto at = single->epoch_of(target);
      return at ? std::max(1.0, std::ceil(*at) - seen) : never_reached;
    }
    return line->rate > 0 ? std::max(1.0, std::ceil((line->scale - target) / line->rate) - seen) : never_reached;
  }
};

std::vector<Yardstick> yardsticks(const std::vector<LossPoint>& points) {
  return {{fit_convergence(points), {}}, {{}, fit_loss(LossForm::line, points)}};
}

// One training, seen up to its epoch number `known`; one entry of `end` and `target` per method.
void ask_about_losses(const std::vector<double>& losses, std::size_t known, std::vector<Scoring>& end,
                      std::vector<Scoring>& target) {
  const std::vector<double> first(losses.begin(), losses.begin() + static_cast<std::ptrdiff_t>(known));
  const std::vector<LossPoint> points = clean_losses(first);
  const double epochs = static_cast<double>(losses.size()), so_far = static_cast<double>(known);
  const auto outlook = LossForecast::from(points)->at(epochs);
  end[0].add(losses.back(), outlook.loss(), Scoring::Range{outlook.low(), outlook.high()});
  const std::vector<Yardstick> others = yardsticks(points);
  for (std::size_t i = 0; i < others.size(); ++i) end[i + 1].add(losses.back(), others[i].loss_at(epochs));

  const double wanted = *std::max_element(losses.end() - 3, losses.end());
  const auto there = std::find_if(losses.begin(), losses.end(), [&](double loss) { return loss <= wanted; });
  const double left = static_cast<double>(there - losses.begin()) + 1 - so_far;
  if (left < 1) return;
  const EpochsLeft answer = epochs_left(first, wanted);
  target[0].add(left, answer.epochs.known() ? answer.epochs.value : never_reached,
                Scoring::Range{answer.low, answer.high});
  for (std::size_t i = 0; i < others.size(); ++i) target[i + 1].add(left, others[i].left(wanted, so_far));
}

}  // namespace

Result<std::vector<LossTraining>> read_loss_trainings(const std::string& path) {
  const auto text = trace::read_text(path);
  if (!text.ok()) return text.error();
  CsvRows rows(*text);
  if (!rows.next()) return invalid("no-column", path + " is empty: it needs a line that names the column losses");
  const auto column = [&](std::string_view name) {
    return static_cast<std::size_t>(std::find(rows.fields().begin(), rows.fields().end(), name) -
                                    rows.fields().begin());
  };
  const std::size_t losses = column("losses"), model = column("model"), half = column("half");
  if (losses == rows.fields().size())
    return invalid("no-column", path + " has no column losses")
        .note(fmt::format("its columns are {}", fmt::join(rows.fields(), ", ")));
  std::vector<LossTraining> trainings;
  while (rows.next()) {
    const auto field = [&](std::size_t at) {
      return at < rows.fields().size() ? rows.fields()[at] : std::string_view();
    };
    const auto parsed = parse_losses(field(losses));
    if (!parsed)
      return invalid("bad-losses", path + ", line " + std::to_string(rows.line()) +
                                       ": losses are numbers above 0 with | between them");
    trainings.push_back({std::string(field(model)), std::string(field(half)), *parsed});
  }
  return trainings;
}

std::vector<ScoreTable> score_losses(const std::vector<LossTraining>& trainings, const std::vector<double>& seen) {
  const std::vector<Scoring> methods{Scoring(weighed_forms), Scoring(single_form), Scoring(line_through_half)};
  ScoreTable end{"Loss of the last epoch", {}}, target{"Epochs left to a target loss", {}};
  for (const double part : seen) {
    std::vector<Scoring> of_end = methods, of_target = methods;
    for (const LossTraining& training : trainings) {
      const auto known = static_cast<std::size_t>(part * static_cast<double>(training.losses.size()));
      if (known >= 3 && known < training.losses.size()) ask_about_losses(training.losses, known, of_end, of_target);
    }
    const std::string when = fmt::format("after {:.0f} %", 100 * part);
    for (const Scoring& scoring : of_end) end.rows.push_back({when, scoring.score()});
    for (const Scoring& scoring : of_target) target.rows.push_back({when, scoring.score()});
  }
  return {end, target};
}

}  // namespace sl::study
