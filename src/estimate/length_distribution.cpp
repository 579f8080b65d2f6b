#include "estimate/length_distribution.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace sl {
namespace {

constexpr double spread_least = 0.01, spread_most = 0.3, spread_of_one = 0.2;
// Added to the spread where one run lasted longer and many did not; found on openB, November 2026.
constexpr double spread_of_few = 0.7;
constexpr double length_most = 1e10;  // three centuries

std::size_t kept_at(std::size_t level) { return level + 1 == LengthDistribution::levels ? 512 : 64; }

// Silverman's rule for the logarithms of sorted lengths; quartiles, so that one odd run does not widen all.
double spread_of(const std::vector<double>& sorted) {
  const std::size_t n = sorted.size();
  if (n < 2) return spread_of_one;
  const double quartiles = std::log(sorted[n * 3 / 4] / sorted[n / 4]) / 1.34;
  const double all = std::log(sorted.back() / sorted.front()) / 2;
  const double scale = n < 8 ? all : quartiles;
  return std::clamp(0.9 * scale * std::pow(static_cast<double>(n), -0.2), spread_least, spread_most);
}

double median_of(const std::vector<double>& sorted) { return sorted[sorted.size() / 2]; }

}  // namespace

double normal(Random& random) {
  const double radius = std::sqrt(-2 * std::log1p(-random.uniform()));
  return radius * std::cos(2 * std::numbers::pi * random.uniform());
}

std::uint64_t LengthDistribution::key(std::uint64_t group, std::size_t level) {
  return (group ^ (level + 1) * 0x9E3779B97F4A7C15ULL) * 0xBF58476D1CE4E5B9ULL;
}

std::size_t LengthDistribution::Group::longer_than(double length) const {
  return static_cast<std::size_t>(sorted.end() - std::upper_bound(sorted.begin(), sorted.end(), length));
}

void LengthDistribution::Group::add(double length, std::size_t kept) {
  if (latest.size() < kept) {
    latest.push_back(length);
  } else {
    sorted.erase(std::lower_bound(sorted.begin(), sorted.end(), latest[next]));
    log_sum -= std::log(latest[next]);
    latest[next] = length;
    next = (next + 1) % kept;
  }
  log_sum += std::log(length);
  sorted.insert(std::upper_bound(sorted.begin(), sorted.end(), length), length);
  spread = spread_of(sorted);
}

void LengthDistribution::add(const Groups& groups, double length) {
  if (!(length > 0) || length > length_most) return;
  for (std::size_t level = 0; level < levels; ++level) groups_[key(groups[level], level)].add(length, kept_at(level));
}

std::size_t LengthDistribution::count(const Groups& groups, std::size_t level) const {
  const auto at = groups_.find(key(groups[level], level));
  return at == groups_.end() ? 0 : at->second.latest.size();
}

LengthDistribution::Prediction LengthDistribution::predict(const Groups& groups) const {
  Prediction prediction;
  for (std::size_t level = 0; level < levels; ++level) {
    const auto at = groups_.find(key(groups[level], level));
    if (at != groups_.end()) prediction.groups_[level] = &at->second;
  }
  const Group* widest = prediction.groups_.back();
  prediction.base_median_ = base_median_ > 0 ? base_median_ : widest ? median_of(widest->sorted) : 1;
  return prediction;
}

double LengthDistribution::Prediction::mean_log() const {
  double mean = std::log(base_median_);
  for (std::size_t level = levels; level-- > 0;) {
    if (const Group* group = groups_[level])
      mean = (group->log_sum + mean) / static_cast<double>(group->sorted.size() + 1);
  }
  return mean;
}

double LengthDistribution::Prediction::draw(double passed, double base_survival, Random& random) const {
  std::array<std::size_t, levels> longer{};
  std::array<double, levels + 1> beyond{};  // the chance to last longer than `passed`, from each level on
  beyond[levels] = base_median_ / (base_median_ + passed);
  for (std::size_t level = levels; level-- > 0;) {
    const Group* group = groups_[level];
    longer[level] = group ? group->longer_than(passed) : 0;
    const auto n = static_cast<double>(group ? group->sorted.size() : 0);
    beyond[level] = (static_cast<double>(longer[level]) + beyond[level + 1]) / (n + 1);
  }
  for (std::size_t level = 0; level < levels; ++level) {
    const auto own = static_cast<double>(longer[level]);
    if (own == 0 || !random.chance(own / (own + beyond[level + 1]))) continue;
    const std::vector<double>& sorted = groups_[level]->sorted;
    const auto back = static_cast<std::size_t>(random.integer(1, static_cast<std::int64_t>(longer[level])));
    const double few = spread_of_few / std::sqrt(own) * (1 - own / static_cast<double>(sorted.size()));
    const double length = sorted[sorted.size() - back] * std::exp((groups_[level]->spread + few) * normal(random));
    return length > passed ? length : passed + std::max(passed - length, 1e-3 * passed);
  }
  const double length = base_median_ / (std::max(base_survival, 1e-4) * beyond[levels]) - base_median_;
  return std::min(passed + (length - passed) * std::exp(spread_of_one * normal(random)), length_most);
}

}  // namespace sl
