#include "estimate/run_time_history.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sl {
namespace {

constexpr std::size_t kept = 64, of_a_group = 9;
constexpr double steps_per_unit = 10;  // of the logarithm of a ratio

}  // namespace

void RunTimeHistory::Ratios::add(double ratio) {
  const long step = std::lround(std::log(ratio) * steps_per_unit);
  ++by_step_[static_cast<std::size_t>(std::clamp<long>(step, -steps, steps) + steps)];
  ++count_;
}

double RunTimeHistory::Ratios::percentile(double share) const {
  const auto rank = static_cast<std::uint32_t>(std::ceil(share * count_));
  std::uint32_t sum = 0;
  int step = -steps;
  for (const std::uint32_t number : by_step_) {
    sum += number;
    if (sum >= std::max(1U, rank)) break;
    ++step;
  }
  return std::exp(step / steps_per_unit);
}

std::uint64_t RunTimeHistory::key(const Kind& kind, Likeness likeness) {
  std::uint64_t hash = static_cast<std::uint64_t>(likeness) + 1;
  const auto mix = [&hash](std::uint64_t part) {
    hash = (hash ^ part) * 0x9E3779B97F4A7C15U;
    hash ^= hash >> 32;
  };
  const bool by_user = likeness == Likeness::user_family_gpus || likeness == Likeness::user_family;
  const bool by_gpus = likeness == Likeness::user_family_gpus || likeness == Likeness::family_gpus;
  if (by_user) mix(kind.user);
  if (likeness != Likeness::all) mix(kind.family);
  if (by_gpus) mix(static_cast<std::uint64_t>(kind.gpus));
  return hash;
}

// Of the latest jobs that had ended by `by_s`.
RunTimeHistory::Middle RunTimeHistory::middle(const Group& group, Likeness likeness, double by_s) {
  const std::size_t wanted = likeness == Likeness::all ? kept : of_a_group;
  std::array<double, kept> run_s;
  std::size_t count = 0;
  for (auto at = group.latest.rbegin(); at != group.latest.rend() && count < wanted; ++at) {
    if (at->ended_s <= by_s) run_s[count++] = at->run_s;
  }
  if (count == 0) return {};
  const auto middle = run_s.begin() + static_cast<std::ptrdiff_t>(count / 2);
  std::nth_element(run_s.begin(), middle, run_s.begin() + static_cast<std::ptrdiff_t>(count));
  return {*middle, std::min(count, counts)};
}

void RunTimeHistory::backtest(const Kind& kind, const Finished& job) {
  for (std::size_t i = 0; i < likenesses; ++i) {
    const auto likeness = static_cast<Likeness>(i);
    const auto group = groups_.find(key(kind, likeness));
    if (group == groups_.end()) continue;
    const Middle guessed = middle(group->second, likeness, job.ended_s - job.run_s);
    if (guessed.count > 0) return ratios_[i][guessed.count - 1].add(job.run_s / guessed.run_s);
  }
}

void RunTimeHistory::add(const Kind& kind, double run_s, double ended_s) {
  if (!(run_s > 0)) return;
  const Finished job{run_s, ended_s};
  backtest(kind, job);
  for (std::size_t i = 0; i < likenesses; ++i) {
    const auto likeness = static_cast<Likeness>(i);
    Group& group = groups_[key(kind, likeness)];
    if (group.latest.size() == kept) group.latest.erase(group.latest.begin());
    group.latest.push_back(job);
    group.middle = middle(group, likeness, std::numeric_limits<double>::infinity());
  }
}

std::optional<RunTimeHistory::Guess> RunTimeHistory::guess(const Kind& kind) const {
  for (std::size_t i = 0; i < likenesses; ++i) {
    const auto likeness = static_cast<Likeness>(i);
    const auto group = groups_.find(key(kind, likeness));
    if (group == groups_.end()) continue;
    const auto [run_s, count] = group->second.middle;
    return Guess{run_s, likeness, count};
  }
  return std::nullopt;
}

RunTimeHistory::Range RunTimeHistory::range(const Guess& guess) const {
  constexpr std::uint32_t enough = 10;
  const Ratios& ratios = ratios_[static_cast<std::size_t>(guess.from)][guess.count - 1];
  if (ratios.count() < enough) return {guess.run_s / 10, guess.run_s * 10};
  return {guess.run_s * std::min(1.0, ratios.percentile(.1)), guess.run_s * std::max(1.0, ratios.percentile(.9))};
}

void RunTimeHistory::clear() { *this = RunTimeHistory(); }

}  // namespace sl
