// A submission as it is stored and as agents get it: without what is as a JobSpec has it by default, which is most of
// it. The defaults are therefore part of these formats (docs/formats): a changed one would change jobs that are stored.
#pragma once

#include <boost/json/value.hpp>
#include <string>

#include "wire/job_spec.h"

namespace sl::wire {

boost::json::object stated(boost::json::object spec);  // of the document that to_value makes of a JobSpec
std::string spec_text(const JobSpec& spec);

// The submission with its defaults, for people and their programs; what a training may state stays out if it does not.
// Text that is no object is returned as it is, and what is no JSON as null.
boost::json::value full_spec(std::string_view text);

}  // namespace sl::wire
