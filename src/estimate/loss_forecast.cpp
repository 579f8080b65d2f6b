#include "estimate/loss_forecast.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace sl {
namespace {

constexpr std::array<double, 3> origins{.4, .55, .7};
constexpr double quantile_90 = 1.2816;  // of the normal distribution

// Long histories are averaged over a few epochs at a time, so that a fit costs about the same however long they are.
std::vector<LossPoint> averaged(std::span<const LossPoint> points) {
  constexpr std::size_t enough = 32;
  const std::size_t group = 2 * (points.size() / (2 * enough)) + 1;  // odd, so that the middle of a group is an epoch
  std::vector<LossPoint> means;
  for (std::size_t from = points.size() % group; from + group <= points.size(); from += group) {
    LossPoint mean{points[from + group / 2].epoch, 0};
    for (std::size_t i = from; i < from + group; ++i) mean.loss += points[i].loss / static_cast<double>(group);
    means.push_back(mean);
  }
  return means;
}

// Standard deviation of ln(loss) around its course, from the steps between the latest points.
double noise_of(std::span<const LossPoint> points) {
  constexpr std::size_t latest = 12;
  std::vector<double> steps;
  for (std::size_t i = std::max<std::size_t>(1, points.size() - std::min(latest - 1, points.size() - 1));
       i < points.size(); ++i)
    steps.push_back(std::log(points[i].loss / points[i - 1].loss));
  double mean = 0, square = 0;
  for (const double step : steps) mean += step / static_cast<double>(steps.size());
  for (const double step : steps) square += (step - mean) * (step - mean) / static_cast<double>(steps.size());
  return std::sqrt(square / 2);
}

double square(double x) { return x * x; }

}  // namespace

double LossForecast::Outlook::loss() const { return std::exp(log_loss); }
double LossForecast::Outlook::low() const { return std::exp(log_loss - quantile_90 * deviation); }
double LossForecast::Outlook::high() const { return std::exp(log_loss + quantile_90 * deviation); }

std::optional<LossForecast> LossForecast::from(std::span<const LossPoint> points) {
  if (points.size() < 3) return std::nullopt;
  const std::vector<LossPoint> means = averaged(points);
  LossForecast made;
  made.last_epoch_ = points.back().epoch;
  made.least_ = made.most_ = means.front().loss;
  for (const LossPoint& point : means) {
    made.least_ = std::min(made.least_, point.loss);
    made.most_ = std::max(made.most_, point.loss);
  }
  made.noise_ = noise_of(points);
  for (const LossForm form : all_loss_forms) made.curves_.push_back({*fit_loss(form, means), 0});
  made.weigh(means);
  return made;
}

void LossForecast::weigh(std::span<const LossPoint> points) {
  constexpr double exact = 0.005, nothing_known = 0.5;  // misses below the first count as it
  struct Backtest {
    std::vector<Weighed> curves;
    std::size_t known;
  };
  std::vector<Backtest> backtests;
  for (const double part : origins) {
    const auto known = std::max<std::size_t>(3, std::lround(part * static_cast<double>(points.size())));
    if (known >= points.size() || (!backtests.empty() && backtests.back().known == known)) continue;
    Backtest& made = backtests.emplace_back(Backtest{{}, known});
    for (const LossForm form : all_loss_forms) made.curves.push_back({*fit_loss(form, points.first(known)), 0});
  }
  const auto mean_miss = [&](const std::vector<Weighed>& curves, std::size_t known) {
    double sum = 0;
    for (const LossPoint& point : points.subspan(known))
      sum += std::abs(log_loss_at(curves, point.epoch) - std::log(point.loss));
    return sum / static_cast<double>(points.size() - known);
  };
  const auto epochs = [&](std::size_t count) { return static_cast<double>(points[count - 1].epoch); };
  const double last = epochs(points.size());
  double sum = 0;
  for (std::size_t i = 0; i < curves_.size(); ++i) {
    double miss = 0;
    for (const Backtest& test : backtests)
      miss += square(mean_miss({{test.curves[i].curve, 1}}, test.known) / std::log(last / epochs(test.known)));
    curves_[i].weight = 1 / (miss / std::max(1.0, static_cast<double>(backtests.size())) + exact * exact);
    sum += curves_[i].weight;
  }
  for (Weighed& weighed : curves_) weighed.weight /= sum;
  double misses = backtests.empty() ? square(nothing_known) : 0;
  for (Backtest& test : backtests) {
    for (std::size_t i = 0; i < curves_.size(); ++i) test.curves[i].weight = curves_[i].weight;
    const double known = epochs(test.known), ahead = std::log((last + known) / 2 / known);
    misses +=
        square(mean_miss(test.curves, test.known) / std::max(ahead, 0.05)) / static_cast<double>(backtests.size());
  }
  misses_ = std::sqrt(misses);
}

// A line that falls below zero counts as a fiftieth of the smallest loss, what cannot be computed likewise.
double LossForecast::log_of(double loss) const {
  return std::log(loss > least_ / 50 ? std::min(loss, most_ * 50) : least_ / 50);
}

// The weighted median.
double LossForecast::log_loss_at(std::span<const Weighed> curves, double epoch) const {
  struct Answer {
    double log_loss = 0, weight = 0;
  };
  std::array<Answer, all_loss_forms.size()> answers;
  std::size_t count = 0;
  for (const Weighed& weighed : curves) {  // keeps them in order
    const double log_loss = log_of(weighed.curve.loss_at(epoch));
    std::size_t at = count++;
    for (; at > 0 && answers[at - 1].log_loss > log_loss; --at) answers[at] = answers[at - 1];
    answers[at] = {log_loss, weighed.weight};
  }
  double sum = 0;
  std::size_t middle = 0;
  while (middle + 1 < count && (sum += answers[middle].weight) < 0.5) ++middle;
  return answers[middle].log_loss;
}

LossForecast::Outlook LossForecast::at(double epoch) const {
  constexpr double scale = 1.14;  // covers 79 % of the last losses of the half it was chosen on
  const double ahead = std::log(std::max(1.0, epoch / last_epoch_));
  Outlook outlook{log_loss_at(curves_, epoch), 0};
  double disagreement = 0;
  for (const Weighed& weighed : curves_)
    disagreement += weighed.weight * square(log_of(weighed.curve.loss_at(epoch)) - outlook.log_loss);
  outlook.deviation = scale * std::sqrt(square(noise_) + square(misses_) * ahead + disagreement);
  return outlook;
}

}  // namespace sl
