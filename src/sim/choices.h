// The lists people write on the command line of a simulation: policies with parameters, seeds, numbers of jobs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/experiment.h"

namespace sl::sim {

// "7", "1,3,5", "1..10", "1..3,9". Numbers of at least one. Error `code` with `flag` in its message.
Result<std::vector<std::int64_t>> parse_numbers(const std::string& text, const std::string& flag);

// Every combination of values for every policy. `parameters` are "[POLICY.]NAME=VALUE[,VALUE]…"; without POLICY it is
// for all that have such a parameter. "all" stands for every policy. Errors: "unknown-policy", "unknown-parameter",
// "bad-parameter".
Result<std::vector<PolicyChoice>> choose_policies(const std::vector<std::string>& names,
                                                  const std::vector<std::string>& parameters);

// "1h=srtf": after this long since the first submission, this policy. Error "bad-flag" or of the policy.
Result<PolicySwitchChoice> parse_switch(const std::string& text);

// "0.5..2": from half to twice the GPUs a job asks for. Error "bad-flag".
Result<Elastic> parse_elastic(const std::string& text);

}  // namespace sl::sim
