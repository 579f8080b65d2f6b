// The lists people write on the command line of a simulation: policies with parameters, seeds, numbers of jobs.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/experiment.h"

namespace sl::sim {

// "7", "1,3,5", "1..10", "1..3,9". Numbers of at least one. Error `code` with `flag` in its message.
Result<std::vector<std::int64_t>> parse_numbers(const std::string& text, const std::string& flag);

// A policy of a file, "./mine.py". Who knows how gives one; without it there are only built-in ones.
using PolicyReader = std::function<Result<PolicyEntry>(const std::string& path)>;

// Every combination of values for every policy. `parameters` are "[POLICY.]NAME=VALUE[,VALUE]…"; without POLICY it is
// for all that have such a parameter. "all" stands for every built-in policy. Errors: "unknown-policy",
// "unknown-parameter", "bad-parameter", or of the reader.
Result<std::vector<PolicyChoice>> choose_policies(const std::vector<std::string>& names,
                                                  const std::vector<std::string>& parameters,
                                                  const PolicyReader& reader = {});

// "1h=srtf": after this long since the first submission, this policy. Error "bad-flag" or of the policy.
Result<PolicySwitchChoice> parse_switch(const std::string& text, const PolicyReader& reader = {});

// "0.5..2": from half to twice the GPUs a job asks for. Error "bad-flag".
Result<Elastic> parse_elastic(const std::string& text);

}  // namespace sl::sim
