// What REST shows of the policy that follows without deciding.
#pragma once

#include <string>

#include "controller/shadow.h"
#include "controller/shadow_answers.h"

namespace sl::controller {

std::string shadow_name(const Shadow& shadow);  // empty: none follows
answers::ShadowPolicy shadow_view(const Shadow& shadow);

// Of the policy that follows, or followed last: "regret_s" (mean over the jobs of a window, with "p10" and "p90") and
// "total_s" (times jobs, added up over the windows), in at most so many steps.
answers::SeriesDocument shadow_series(const Shadow& shadow, std::size_t points);

}  // namespace sl::controller
