// What REST shows of policies: the catalogue, the one in force, those before it, and what each assumes about the jobs
// that wait just now.
#pragma once

#include <boost/json.hpp>

#include "controller/logic.h"

namespace sl::controller {

// Of the jobs that wait now.
MissingFacts missing_facts(const Core& core);

boost::json::object policy_info_view(const PolicyInfo& info, const MissingFacts& missing);
boost::json::object policy_view(const Logic& logic);
boost::json::object policy_change_view(const store::PolicyRow& row);

}  // namespace sl::controller
