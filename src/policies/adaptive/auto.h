// One of several named policies at a time; which one is decided outside, by forecasts, and arrives here as a parameter.
//
// clang-format off
//   1 the policy `acting` decides, as if it had been chosen itself; "first" is the first of `candidates`
//   2 every `every_s`, whoever runs the world continues the present under each candidate, in the same possible futures;
//     for `ahead_s`, jobs come as they came in as long a time before. By deadlines it runs the jobs of the last hours again
//     under each candidate instead (forecast/choice.h says why)
//   3 the cheapest by `objective` takes over if it saves `gain_pct` of what is still ahead, in three of four futures, and
//     the last change was `hold_s` ago (forecast/choice.h)
// clang-format on
//
// A change is a change of the parameter `acting`, so it is durable, recorded, listed in the history and can be undone as any
// other. Ties: the policy that acts stays. Preemptive and elastic as its candidates are. Source: the idea is Streit 2002,
// "A self-tuning job scheduler family with dynamic policy switching"; the rules for a change are ours.
#pragma once

#include <string>
#include <vector>

#include "policy/policy.h"

namespace sl {

inline constexpr const char* auto_name = "auto";

// What the policy is told, read once. Times in seconds.
struct AutoParameters {
  std::vector<std::string> candidates;
  std::string objective, acting;  // `acting` is the name of a policy
  double every_s = 0, hold_s = 0, ahead_s = 0, gain_pct = 0;
};
AutoParameters read_auto(const Parameters& given);

// `names`: of the policies it can choose among.
PolicyEntry auto_entry(const std::vector<std::string>& names);

}  // namespace sl
