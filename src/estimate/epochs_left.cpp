#include "estimate/epochs_left.h"

#include <algorithm>
#include <cmath>

#include "estimate/loss_forms.h"

namespace sl {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

struct WeighedCurve {
  LossCurve curve;
  double weight = 1;
};
struct Forecast {
  std::vector<WeighedCurve> curves;  // weights sum up to 1
  double miss = infinity;            // error of the best form in the last third, relative to the loss
};

// Long histories are averaged over a few epochs at a time, so that a fit costs about the same however long they are.
std::vector<LossPoint> averaged(const std::vector<LossPoint>& points) {
  constexpr std::size_t enough = 32;
  const std::size_t group = 2 * (points.size() / (2 * enough)) + 1;  // odd, so that the middle of a group is an epoch
  if (group == 1) return points;
  std::vector<LossPoint> means;
  for (std::size_t from = points.size() % group; from + group <= points.size(); from += group) {
    LossPoint mean{points[from + group / 2].epoch, 0};
    for (std::size_t i = from; i < from + group; ++i) mean.loss += points[i].loss / static_cast<double>(group);
    means.push_back(mean);
  }
  return means;
}

double mean_square_miss(const LossCurve& curve, const std::vector<LossPoint>& points, std::size_t from) {
  double sum = 0;
  for (std::size_t i = from; i < points.size(); ++i)
    sum += std::pow((curve.loss_at(points[i].epoch) - points[i].loss) / points[i].loss, 2);
  return sum / static_cast<double>(points.size() - from);
}

// Below six points there is too little to test a form against: all forms weigh the same.
Forecast forecast(const std::vector<LossPoint>& every) {
  const std::vector<LossPoint> points = averaged(every);
  constexpr std::size_t judged_from = 6;
  constexpr double exact = 1e-10;  // smaller errors count as this one
  Forecast made;
  const std::size_t known = points.size() * 2 / 3;
  const std::vector<LossPoint> before(points.begin(), points.begin() + static_cast<std::ptrdiff_t>(known));
  double sum = 0;
  for (const LossForm form : all_loss_forms) {
    const auto curve = fit_loss(form, points);
    if (!curve) continue;
    double weight = 1;
    if (points.size() >= judged_from) {
      const double square = mean_square_miss(*fit_loss(form, before), points, known);
      made.miss = std::min(made.miss, std::sqrt(square));
      weight = std::isfinite(square) ? 1 / (square + exact) : 0;
    }
    made.curves.push_back({*curve, weight});
    sum += weight;
  }
  for (WeighedCurve& weighed : made.curves) weighed.weight = sum > 0 ? weighed.weight / sum : 0;
  return made;
}

struct Answer {
  double epochs, weight;
};

Confidence confidence_of(const EpochsLeft& left, double miss) {
  const double width = (left.high - left.low) / left.epochs.value;
  if (width <= 0.25 && miss <= 0.02) return Confidence::high;
  return width <= 1 && miss <= 0.1 ? Confidence::medium : Confidence::low;
}

EpochsLeft summary(std::vector<Answer> answers, double miss) {
  constexpr double counts_from = 0.1;  // relative to the weight of the heaviest form
  double heaviest = 0;
  for (const Answer& answer : answers) heaviest = std::max(heaviest, answer.weight);
  std::erase_if(answers, [&](const Answer& answer) { return answer.weight < counts_from * heaviest; });
  EpochsLeft left;
  if (answers.empty()) return left;
  std::stable_sort(answers.begin(), answers.end(),
                   [](const Answer& a, const Answer& b) { return a.epochs < b.epochs; });
  left.low = answers.front().epochs;
  left.high = answers.back().epochs;
  double half = 0;
  for (const Answer& answer : answers) half += answer.weight / 2;
  auto middle = answers.begin();
  for (double sum = middle->weight; sum < half && middle + 1 != answers.end(); sum += middle->weight) ++middle;
  const auto finite =
      std::count_if(answers.begin(), answers.end(), [](const Answer& a) { return a.epochs < infinity; });
  const bool never_is_alone = finite + 1 == std::ssize(answers) && finite > 0;
  if (!(middle->epochs < infinity) && never_is_alone) --middle;
  left.reachable = middle->epochs < infinity;
  if (!left.reachable) return left;
  left.epochs.value = middle->epochs;
  left.epochs.confidence = confidence_of(left, miss);
  return left;
}

EpochsLeft exactly(double epochs) { return {{epochs, Confidence::high}, epochs, epochs, true}; }

}  // namespace

EpochsLeft epochs_left(const std::vector<double>& loss_by_epoch, double target) {
  if (!(target > 0) || !std::isfinite(target)) return {};
  if (epoch_of_target(loss_by_epoch, target)) return exactly(1);
  const std::vector<LossPoint> points = clean_losses(loss_by_epoch);
  if (points.empty()) return {};
  const Forecast known = forecast(points);
  std::vector<Answer> answers;
  for (const auto& [curve, weight] : known.curves) {
    const double at = curve.epoch_of(target).value_or(infinity);
    const double left = std::max(1.0, std::ceil(at - 1e-6) - points.back().epoch);
    answers.push_back({at < 1e9 ? left : infinity, weight});
  }
  return summary(std::move(answers), known.miss);
}

EpochsLeft epochs_to_convergence(const std::vector<double>& loss_by_epoch, int epochs_max) {
  const std::vector<LossPoint> points = clean_losses(loss_by_epoch);
  if (points.empty()) return {};
  std::vector<double> clean;
  for (const LossPoint& point : points) clean.push_back(point.loss);
  if (epoch_of_convergence(clean)) return exactly(1);
  const int done = points.back().epoch;
  const Forecast known = forecast(points);
  std::vector<Answer> answers;
  for (const auto& [curve, weight] : known.curves) {
    std::vector<double> continued = clean;
    for (int epoch = done + 1; epoch <= epochs_max; ++epoch) continued.push_back(curve.loss_at(epoch));
    const int more =
        epoch_of_convergence(continued).value_or(static_cast<int>(continued.size())) - static_cast<int>(clean.size());
    answers.push_back({std::max(1.0, static_cast<double>(more)), weight});
  }
  return summary(std::move(answers), known.miss);
}

}  // namespace sl
