// Lists written on the command line of a simulation: policies with parameters, seeds, numbers of jobs.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "study/experiment.h"

namespace sl::study {

// "7", "1,3,5", "1..10", "1..3,9". Numbers are at least one. Error `code` with `flag` in its message.
Result<std::vector<std::int64_t>> parse_numbers(const std::string& text, const std::string& flag);

// "0.5,0.8,1.1": above 0 and at most 100. Error "bad-flag".
Result<std::vector<double>> parse_loads(const std::string& text);

// Reads a policy from a file, "./mine.py". Optional: without a reader only built-in policies can be named.
using PolicyReader = std::function<Result<PolicyEntry>(const std::string& path)>;

// Every combination of values for every policy. `parameters` are "[POLICY.]NAME=VALUE[,VALUE]…"; without POLICY a
// parameter applies to all policies that have it; values of a list of numbers are separated by "/" (base/parameters.h).
// "all" stands for every built-in policy. Errors: "unknown-policy", "unknown-parameter", "bad-parameter", or the
// reader's.
Result<std::vector<PolicyChoice>> choose_policies(const std::vector<std::string>& names,
                                                  const std::vector<std::string>& parameters,
                                                  const PolicyReader& reader = {});

// "1h=srtf": this policy, from this long after the first submission on. Error "bad-flag", or the policy's.
Result<PolicySwitchChoice> parse_switch(const std::string& text, const PolicyReader& reader = {});

// "0.5..2": from half to twice the GPUs a job asks for. Error "bad-flag".
Result<Elastic> parse_elastic(const std::string& text);

}  // namespace sl::study
