// A policy's description, as the document that REST and the command line share (docs/guide/rest.md).
#pragma once

#include <boost/json.hpp>

#include "policy/policy.h"

namespace sl {

// `missing`: the facts that jobs lack; they become the notes.
boost::json::object to_json(const PolicyInfo& info, const MissingFacts& missing = {});
// What the policy assumes about waiting jobs that lack facts, one sentence each.
boost::json::array notes_of(const PolicyInfo& info, const MissingFacts& missing);

}  // namespace sl
