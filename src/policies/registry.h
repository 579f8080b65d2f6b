// The list of all policies, in the order `schedulearn policy ls` prints. Adding one takes a file pair and a line in
// registry.cpp.
#pragma once

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "policy/policy.h"

namespace sl {

const std::vector<PolicyEntry>& policies();

// Finds a policy by name or alias; case, `_`, `-` and spaces do not matter. Null if there is none.
const PolicyEntry* find_policy(std::string_view name);

// The error "there is no policy fifoo", with the nearest name and the list.
Error unknown_policy(std::string_view name);

// Errors: "unknown-policy", "unknown-parameter", "bad-parameter".
Result<std::unique_ptr<Policy>> make_policy(std::string_view name, const GivenParameters& parameters = {});

}  // namespace sl
