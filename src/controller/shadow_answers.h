// What REST answers about the policy that follows without deciding.
#pragma once

#include <optional>

#include "controller/answers.h"

namespace sl::controller::answers {

// By how much the policy in force does worse than the one that follows; above 0: the follower does better.
struct FoundRegret {
  Time at, since;  // since: the window began
  Text in_force, shadow;
  std::size_t jobs = 0, draws = 0;
  double in_force_s = 0, shadow_s = 0;
  double mean_s = 0, p10_s = 0, p90_s = 0;
};
BOOST_DESCRIBE_STRUCT(FoundRegret, (),
                      (at, since, in_force, shadow, jobs, draws, in_force_s, shadow_s, mean_s, p10_s, p90_s))

struct ShadowPolicy {
  std::optional<Text> name;  // none: no policy follows
  Object parameters;
  std::optional<Time> since;
  std::optional<Text> by;
  std::optional<FoundRegret> latest;
  double total_s = 0;  // mean times jobs, over all windows of this policy
  std::size_t windows = 0;
};
BOOST_DESCRIBE_STRUCT(ShadowPolicy, (), (name, parameters, since, by, latest, total_s, windows))

}  // namespace sl::controller::answers
