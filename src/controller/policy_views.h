// What REST shows of the current policy and earlier ones (the catalogue: policies/catalogue.h).
#pragma once

#include <boost/json.hpp>

#include "controller/answers.h"
#include "controller/logic.h"

namespace sl::controller {

// For the jobs that wait now.
MissingFacts missing_facts(const Core& core);

// A parameter's value in the form in which it would be typed: [3250, 7200] is "3250,7200".
std::string parameter_text(const boost::json::value& value);

answers::Policy policy_view(const Logic& logic);
answers::EarlierPolicy policy_change_view(const store::PolicyRow& row);

}  // namespace sl::controller
