#include "policies/elastic/lyapunov_choice.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <tuple>

namespace sl {

ByGpus lyapunov_worth(const LyapunovJob& job, double q, double z, const LyapunovSettings& settings) {
  const double best = *std::min_element(job.time.begin(), job.time.end());
  ByGpus worth;
  for (const double time : job.time) {
    const double penalty = settings.absolute ? time : time - best;
    worth.push_back(q * job.length + z * (job.waited + settings.slot) - settings.v * penalty);
  }
  return worth;
}

namespace {

constexpr double rounding = 1e-9;

struct Option {
  int gpus;
  double worth;
};
using Options = boost::container::small_vector<Option, 4>;  // of one job, fewer GPUs first

std::vector<Options> options_of(const std::vector<LyapunovJob>& jobs, double q, double z, int gpus,
                                const LyapunovSettings& settings) {
  std::vector<Options> all;
  for (const LyapunovJob& job : jobs) {
    Options& options = all.emplace_back();
    const ByGpus worth = lyapunov_worth(job, q, z, settings);
    for (std::size_t i = 0; i < worth.size(); ++i) {
      const int g = job.least + static_cast<int>(i);
      if (g <= gpus && g <= job.room && worth[i] > 0) options.push_back({g, worth[i]});
    }
  }
  return all;
}

struct Best {
  double worth = 0;
  int jobs = 0;
};

// At most `gpus` jobs can start, so of those with an option on g GPUs the `gpus` most valuable suffice for each g.
std::vector<std::size_t> candidates(const std::vector<Options>& options, int gpus) {
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < options.size(); ++i) {
    if (!options[i].empty()) all.push_back(i);
  }
  if (all.size() <= static_cast<std::size_t>(gpus)) return all;
  std::vector<bool> keep(options.size(), false);
  for (int g = 1; g <= gpus; ++g) {
    std::vector<std::pair<double, std::size_t>> by_worth;
    for (const std::size_t i : all) {
      for (const Option& option : options[i]) {
        if (option.gpus == g) by_worth.emplace_back(-option.worth, i);
      }
    }
    if (by_worth.empty() && g > 64) break;
    const std::size_t count = std::min(by_worth.size(), static_cast<std::size_t>(gpus));
    std::partial_sort(by_worth.begin(), by_worth.begin() + static_cast<std::ptrdiff_t>(count), by_worth.end());
    for (std::size_t k = 0; k < count; ++k) keep[by_worth[k].second] = true;
  }
  std::erase_if(all, [&](std::size_t i) { return !keep[i]; });
  return all;
}

// Youngest first, so that among equal choices the older job decides last and gets the GPUs.
std::vector<int> knapsack(const std::vector<Options>& options, const std::vector<std::size_t>& jobs, int gpus) {
  const auto columns = static_cast<std::size_t>(gpus) + 1;
  std::vector<Best> best(columns), next(columns);
  std::vector<std::vector<std::int16_t>> choice(jobs.size(), std::vector<std::int16_t>(columns, 0));
  for (std::size_t n = jobs.size(); n-- > 0;) {
    for (std::size_t k = 0; k < columns; ++k) {
      next[k] = best[k];
      bool waits = true;
      for (const Option& option : options[jobs[n]]) {
        const auto g = static_cast<std::size_t>(option.gpus);
        if (g > k) break;
        const Best with{best[k - g].worth + option.worth, best[k - g].jobs + 1};
        const double more = with.worth - next[k].worth;
        const bool equal = std::abs(more) <= rounding;
        if (!(more > rounding || (equal && (with.jobs > next[k].jobs || (waits && with.jobs == next[k].jobs)))))
          continue;
        next[k] = with;
        choice[n][k] = static_cast<std::int16_t>(option.gpus);
        waits = false;
      }
    }
    std::swap(best, next);
  }
  std::vector<int> chosen(options.size(), 0);
  std::size_t left = columns - 1;
  for (std::size_t n = 0; n < jobs.size(); ++n) {
    chosen[jobs[n]] = choice[n][left];
    left -= static_cast<std::size_t>(choice[n][left]);
  }
  return chosen;
}

// The options of all jobs by worth per GPU; ties: older, then fewer GPUs.
std::vector<int> greedy(const std::vector<Options>& options, int gpus) {
  struct Offer {
    double density;
    std::size_t job;
    int gpus;
  };
  std::vector<Offer> offers;
  for (std::size_t i = 0; i < options.size(); ++i) {
    for (const Option& option : options[i]) offers.push_back({option.worth / option.gpus, i, option.gpus});
  }
  std::sort(offers.begin(), offers.end(), [](const Offer& a, const Offer& b) {
    if (a.density != b.density) return a.density > b.density;
    return std::tie(a.job, a.gpus) < std::tie(b.job, b.gpus);
  });
  std::vector<int> chosen(options.size(), 0);
  for (const Offer& offer : offers) {
    if (chosen[offer.job] > 0 || offer.gpus > gpus) continue;
    chosen[offer.job] = offer.gpus;
    gpus -= offer.gpus;
  }
  return chosen;
}

}  // namespace

std::vector<int> lyapunov_choice(const std::vector<LyapunovJob>& jobs, double q, double z, int gpus,
                                 const LyapunovSettings& settings, double exact_ops) {
  const std::vector<Options> options = options_of(jobs, q, z, gpus, settings);
  const std::vector<std::size_t> some = candidates(options, gpus);
  double ops = 0;
  for (const std::size_t i : some) ops += static_cast<double>(options[i].size()) * gpus;
  return ops <= exact_ops ? knapsack(options, some, gpus) : greedy(options, gpus);
}

}  // namespace sl
