// What REST shows of the current policy and earlier ones (the catalogue: policies/catalogue.h).
#pragma once

#include <boost/json.hpp>
#include <optional>
#include <string>

#include "controller/logic.h"
#include "controller/policy_answers.h"
#include "controller/requests.h"

namespace sl::controller {

// The candidate that decides, under the policy `auto`.
std::optional<std::string> acting_policy(const PolicyLife& policies);

// For the jobs that wait now.
MissingFacts missing_facts(const Core& core);

// A parameter's value in the form in which it would be typed: [3250, 7200] is "3250,7200".
std::string parameter_text(const boost::json::value& value);

// A policy as REST reads it, without its source.
PolicyChange change_of(const PolicyBody& body);
PolicyBody body_of(const PolicyChange& change);

// `shadow`: the policy that follows; empty: none.
answers::Policy policy_view(const Logic& logic, const std::string& shadow);
std::optional<answers::PlannedPolicy> planned_policy_view(const PolicyLife& policies);
answers::EarlierPolicy policy_change_view(const store::PolicyRow& row);

}  // namespace sl::controller
