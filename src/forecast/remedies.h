// What a user could change about a waiting job so that it starts sooner, or about a group so that its last member ends
// sooner, each tried in the same futures as the job as it is. Only changes that help are kept.
#pragma once

#include <string>
#include <vector>

#include "forecast/forecast.h"

namespace sl::forecast {

struct Change {
  std::optional<int> gpus_min = {}, gpus = {};  // `gpus`: the most
  std::optional<int> servers = {};              // the most
  std::optional<Duration> time_limit = {};
  bool any_gpu_type = false;
  std::optional<int> max_running = {};  // of a group
  friend bool operator==(const Change&, const Change&) = default;
};

struct Remedy {
  Change change;
  std::optional<Range> start, start_before;  // nothing: it is a group
  Range finish, finish_before;
  ServerIndex server;  // where it would start most often; none: it is a group
};

struct RemedySettings {
  std::function<std::unique_ptr<Policy>()> make_policy;
  bool is_elastic = false;  // the policy chooses within a range of GPUs
  bool may_spread = false;  // the job could run on two servers
  Continue continue_present;
  std::uint64_t seed = 1;
  std::size_t draws = 12;
  std::function<bool()> stop = {};
};

// The changes worth trying for the `at`th job, which waits.
std::vector<Change> changes_for(const Present& present, const std::vector<Lengths::Prospect>& prospects, std::size_t at,
                                const RemedySettings& settings);
// The soonest start, of a group the soonest end, first. Nothing if time is up before all changes have been tried.
// `present` is changed meanwhile.
std::vector<Remedy> remedies(Present& present, const std::vector<Lengths::Prospect>& prospects, std::size_t at,
                             const RemedySettings& settings);

}  // namespace sl::forecast
