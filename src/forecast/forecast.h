// When each job will start and end: many possible futures of one present, each with other lengths of the jobs, and for
// every job the range in which its times fall.
#pragma once

#include <string>
#include <vector>

#include "forecast/future.h"
#include "forecast/lengths.h"

namespace sl::forecast {

inline constexpr std::size_t draws_wanted = 64, draws_least = 32;

struct Range {
  Instant p10, p50, p90;
  friend bool operator==(const Range&, const Range&) = default;
};

struct JobForecast {
  JobId job;
  std::optional<Range> start;   // of a job that waits
  std::optional<Range> finish;  // nothing: unknown
  Basis basis;                  // of its own length
  ServerIndex server;           // where it starts most often; none: it does not wait, or does not start
  int gpus = 0;                 // likewise, on how many
  Instant earliest;             // before which it does not start
  // From its start, or from now on, to its end at the latest. Nothing: it has no limit, or may be interrupted.
  std::optional<Duration> longest = {};
};

// How many GPUs jobs will hold. Empty when no moments were asked for, or no future is known.
struct GpusHeld {
  struct Share {
    double p10 = 0, p50 = 0, p90 = 0;
  };
  std::vector<Instant> at;
  std::vector<Share> all;                   // as `at`
  std::vector<std::vector<double>> server;  // the mean of the futures, by server; each as `at`
};

struct Forecast {
  Instant at;  // the present
  std::string policy;
  std::size_t draws = 0;          // fewer than draws_wanted if the time was up
  std::vector<JobForecast> jobs;  // by id
  GpusHeld held;
  std::vector<JobId> unknown;    // jobs that take part and have no length
  std::optional<Error> failure;  // of the policy; then the rest is incomplete

  const JobForecast* find(JobId job) const;
};

struct ForecastSettings {
  std::string policy_name;
  std::function<std::unique_ptr<Policy>()> make_policy;  // for each future anew
  Continue continue_present;
  std::vector<Instant> moments = {};  // for GpusHeld
  std::uint64_t seed = 1;
  std::size_t draws = draws_wanted;
  std::function<bool(std::size_t draws)> is_enough = {};  // asked after each future; empty: `draws` are made
  std::function<bool()> stop = {};                        // also in the middle of one
};

// `facts`: as present.jobs.
Forecast make_forecast(const Present& present, const std::vector<JobFacts>& facts, const Lengths& lengths,
                       const ForecastSettings& settings);

// How long each job may still run; as present.jobs.
std::vector<Lengths::Prospect> prospects_of(const Present& present, const std::vector<JobFacts>& facts,
                                            const Lengths& lengths);
// What several futures say about a job, the `at`th of the present.
JobForecast summarize(const Present& present, std::size_t at, const Lengths::Prospect& prospect,
                      const std::vector<Future>& futures);
// Ranges that were moved one by one are made such that the job starts no sooner than it may, ends after it starts, and ends
// within its time limit.
void fit_together(JobForecast& job, Instant now);

GpusHeld gpus_held(const std::vector<Instant>& moments, std::size_t servers, const std::vector<Future>& futures);

// The lengths of one future. Equal seeds give equal lengths, whatever the policy.
std::vector<double> draw_all_left_s(const std::vector<Lengths::Prospect>& prospects, std::uint64_t seed);

// The same of members that come up in that future (FutureSettings). `prospects` must outlive it.
std::function<double(std::size_t, std::uint64_t)> draws_of_members(const std::vector<Lengths::Prospect>& prospects,
                                                                   std::uint64_t seed);

// The value below which that share of all lie, between the neighbours, so that with few values a range is not too narrow
// (Weibull's plotting positions). Never, if the larger neighbour is never. `sorted` is not empty.
Instant quantile(const std::vector<Instant>& sorted, double share);

}  // namespace sl::forecast
