#include "forecast/lengths.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "forecast/future.h"

namespace sl::forecast {
namespace {

constexpr std::size_t others_least = 3;  // finished jobs of anybody that say anything about a job unlike them
// Of the logarithm of what is left according to progress: pace changes, and the last steps (evaluation, saving) differ.
constexpr double progress_spread_first = 0.3, progress_spread_last = 0.05;
constexpr double telling_share = 0.1;  // of the work, from which on a pace counts that includes the start

// The levels of groups_of().
enum Level : std::size_t { same_everything, same_family_and_gpus, same_family, same_name, same_user, all };

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  std::uint64_t z = (a ^ (b + 0x9E3779B97F4A7C15ULL + (a << 6) + (a >> 2))) * 0xBF58476D1CE4E5B9ULL;
  return z ^ (z >> 31);
}

}  // namespace

double passed_s(const Job& job, Instant now) {
  const double run_s = job.run_at(now).to_seconds();
  if (!(run_s > 0)) return 0;
  const int held = static_cast<int>(std::lround(static_cast<double>(job.attained_at(now)) * 1e-6 / run_s));
  if (held < 1 || held == job.request.gpus) return run_s;
  return run_s * job.request.speed_curve().speed_on(held, job.request.gpus);
}

std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 14695981039346656037ULL;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return hash;
}

std::string family_of(std::string_view name) {
  std::string family;
  for (const char c : name) {
    const bool digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    const bool in_number = digit || ((c == '.' || c == '-') && family.ends_with('#'));
    if (!in_number) family += c;
    if (digit && !family.ends_with('#')) family += '#';
  }
  const std::size_t last = family.find_last_not_of("#-_.");
  return last == std::string::npos ? family : family.substr(0, last + 1);
}

std::string to_string(const Basis& basis) {
  switch (basis.kind) {
    case BasisKind::none:
      return "";
    case BasisKind::progress:
      return "progress";
    case BasisKind::alike:
      return "history:" + std::to_string(basis.runs);
    case BasisKind::estimate:
      return "estimate";
    case BasisKind::time_limit:
      return "time_limit";
    case BasisKind::others:
      return "others:" + std::to_string(basis.runs);
  }
  return "";
}

LengthDistribution::Groups Lengths::groups_of(const RunKind& kind) {
  const std::uint64_t family = mix(kind.user, kind.family);
  const auto gpus = static_cast<std::uint64_t>(kind.gpus);
  return {mix(mix(family, kind.command), gpus), mix(family, gpus), family, mix(1, kind.family), kind.user, 0};
}

void Lengths::CommonError::add(double error) {
  block_.push_back(error);
  if (block_.size() < block_runs) return;
  Block block;
  for (const double value : block_) block.mean += value / block_runs;
  for (const double value : block_) block.variance += (value - block.mean) * (value - block.mean) / (block_runs - 1);
  block_.clear();
  blocks_.push_back(block);
  if (blocks_.size() > blocks_most) blocks_.pop_front();
  const auto n = static_cast<double>(blocks_.size());
  double between = 0, by_chance = 0;
  for (const Block& each : blocks_) between += each.mean * each.mean / n, by_chance += each.variance / block_runs / n;
  const double found = std::max(0.0, between - by_chance);
  // The variance of a variance from n values is 2 / n of its square; that of the first guess is its square.
  const double weight = n / 2 / std::max(1e-9, between * between), weight_first = std::pow(first, -4);
  spread_ = std::min(first, std::sqrt((found * weight + first * first * weight_first) / (weight + weight_first)));
}

void Lengths::add(const FinishedRun& run) {
  if (!(run.run_s > 0)) return;
  ++runs_;
  const LengthDistribution::Groups groups = groups_of(run.kind);
  if (lengths_.count(groups, all) >= others_least)
    common_.add(std::log(run.run_s) - lengths_.predict(groups).mean_log());
  lengths_.add(groups, run.run_s);
  // Whose estimates and limits they are matters more than what ran.
  if (run.estimate_s && *run.estimate_s > 0) of_estimates_.add(groups, run.run_s / *run.estimate_s);
  if (run.limit_s && *run.limit_s > 0) of_limits_.add(groups, run.run_s / *run.limit_s);
}

Lengths::Prospect Lengths::prospect_of(const Job& job, const JobFacts& facts, Instant now) const {
  Prospect prospect;
  prospect.job = static_cast<std::uint64_t>(job.request.id.value), prospect.user = facts.kind.user;
  prospect.passed_s = passed_s(job, now);
  prospect.common_spread = common_spread();
  const LengthDistribution::Groups groups = groups_of(facts.kind);
  const auto& request = job.request;
  if (request.time_limit) {
    const double left_s = std::max(0.0, (*request.time_limit - job.run_at(now)).to_seconds());
    prospect.limit_s = prospect.passed_s + left_s;
  }
  const auto from = [&](const LengthDistribution& distribution, BasisKind kind, std::size_t runs, double scale) {
    prospect.basis = {.kind = kind, .runs = runs};
    prospect.prediction = distribution.predict(groups);
    prospect.scale = scale;
  };
  std::size_t alike = 0;
  for (std::size_t level = same_everything; level <= same_name && alike == 0; ++level)
    alike = lengths_.count(groups, level);
  const bool is_known = alike > 0 || (request.estimate && request.estimate->us > 0);
  const double share = facts.progress ? facts.progress->share : 0;
  if (share > 0 && (facts.progress->is_measured || share >= telling_share || !is_known)) {
    prospect.basis = {.kind = BasisKind::progress};
    prospect.reported_s = facts.progress->left_s;
    prospect.spread = progress_spread_first + (progress_spread_last - progress_spread_first) * share;
    return prospect;
  }
  const std::size_t of_anybody = lengths_.count(groups, all);
  if (alike > 0) {
    from(lengths_, BasisKind::alike, alike, 1);
  } else if (request.estimate && request.estimate->us > 0) {
    from(of_estimates_, BasisKind::estimate, of_estimates_.count(groups, all), request.estimate->to_seconds());
  } else if (request.time_limit && request.time_limit->us > 0) {
    from(of_limits_, BasisKind::time_limit, of_limits_.count(groups, all), request.time_limit->to_seconds());
  } else if (of_anybody >= others_least) {
    const std::size_t of_user = lengths_.count(groups, same_user);
    from(lengths_, BasisKind::others, of_user > 0 ? of_user : of_anybody, 1);
  }
  return prospect;
}

double draw_left_s(const Lengths::Prospect& prospect, double base_survival, Random& random) {
  const double most = prospect.limit_s - prospect.passed_s;
  switch (prospect.basis.kind) {
    case BasisKind::none:
      return endless_s;
    case BasisKind::progress:
      return std::min(most, prospect.reported_s * std::exp(prospect.spread * normal(random)));
    default:
      const double whole =
          prospect.scale * prospect.prediction.draw(prospect.passed_s / prospect.scale, base_survival, random);
      return std::clamp(whole - prospect.passed_s, 0.0, most);
  }
}

}  // namespace sl::forecast
