#include "trace/pollux/step_times.h"

#include <algorithm>
#include <numeric>

namespace sl::trace {
namespace {

constexpr int servers_max = 16;  // of the cluster that was measured; more are as fast

// The smallest rotation: which server is the first of a ring makes no difference.
std::vector<int> normalized(std::vector<int> placement) {
  std::vector<int> smallest = placement;
  for (std::size_t i = 1; i < placement.size(); ++i) {
    std::ranges::rotate(placement, placement.begin() + 1);
    smallest = std::min(smallest, placement);
  }
  return smallest;
}

std::string digits(const std::vector<int>& placement) {
  std::string text;
  for (const int gpus : placement) text += static_cast<char>('0' + gpus);
  return text;
}

}  // namespace

void StepTimes::add(const std::string& placement, int local_batch, StepTime time) {
  std::vector<Measured>& measured = by_placement_[placement];
  measured.insert(std::ranges::upper_bound(measured, local_batch, {}, &Measured::local_batch), {local_batch, time});
  const int gpus =
      std::accumulate(placement.begin(), placement.end(), 0, [](int sum, char digit) { return sum + (digit - '0'); });
  Mean& mean = means_[{static_cast<int>(placement.size()), gpus, local_batch}];
  mean.sum.step_s += time.step_s;
  mean.sum.sync_s += time.sync_s;
  ++mean.count;
  local_batch_max_ = std::max(local_batch_max_, local_batch);
  servers_measured_ = std::max(servers_measured_, placement.size());
}

void StepTimes::add(int servers, int gpus, int local_batch, StepTime time) {
  others_.push_back({{servers, gpus, local_batch}, time});
}

void StepTimes::triangulate() {
  std::vector<Delaunay::Point> points;
  const auto take = [&](const std::array<int, 3>& at, StepTime time) {
    points.emplace_back(at[0], at[1], at[2]);
    times_.push_back(time);
  };
  for (const auto& [at, mean] : means_) take(at, {mean.sum.step_s / mean.count, mean.sum.sync_s / mean.count});
  for (const auto& [at, time] : others_) take(at, time);
  triangulation_.emplace(std::move(points));
}

std::optional<StepTime> StepTimes::in_space(int servers, int gpus, int local_batch) const {
  const auto mean = triangulation_->find(Delaunay::Point(servers, gpus, local_batch));
  if (!mean) return {};
  StepTime time;
  for (std::size_t i = 0; i < 4; ++i) {
    const double weight = mean->weights[static_cast<Eigen::Index>(i)];
    time.step_s += weight * times_[mean->points.at(i)].step_s;
    time.sync_s += weight * times_[mean->points.at(i)].sync_s;
  }
  return time;
}

std::optional<StepTime> StepTimes::at(const std::vector<int>& placement, int local_batch) const {
  const auto known =
      placement.size() <= servers_measured_ ? by_placement_.find(digits(normalized(placement))) : by_placement_.end();
  if (known == by_placement_.end()) {
    const auto servers = std::min(static_cast<int>(placement.size()), servers_max);
    return in_space(servers, std::accumulate(placement.begin(), placement.end(), 0), local_batch);
  }
  const std::vector<Measured>& measured = known->second;
  if (measured.size() < 2 || local_batch < measured.front().local_batch || local_batch > measured.back().local_batch)
    return {};
  const auto above =
      std::max(std::ranges::lower_bound(measured, local_batch, {}, &Measured::local_batch), measured.begin() + 1);
  const auto [from, low] = *(above - 1);
  const auto [to, high] = *above;
  const double width = to - from, beyond = local_batch - from;
  return StepTime{(high.step_s - low.step_s) / width * beyond + low.step_s,
                  (high.sync_s - low.sync_s) / width * beyond + low.sync_s};
}

}  // namespace sl::trace
