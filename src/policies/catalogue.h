// A policy's description, as REST and the command line show it (docs/guide/rest.md).
#pragma once

#include <boost/describe.hpp>
#include <optional>
#include <string>
#include <vector>

#include "policy/policy.h"

namespace sl {

struct ParameterDescription {
  std::string name, type, unit, default_;
  std::optional<double> min, max;
  std::vector<std::string> choices;
  std::string help;
};
BOOST_DESCRIBE_STRUCT(ParameterDescription, (), (name, type, unit, default_, min, max, choices, help))

struct PolicyDescription {
  std::string name, title, summary, good_for, weak_for, placement;
  std::vector<std::string> needs, aliases;
  bool preemptive = false, elastic = false, work_conserving = false;
  std::vector<ParameterDescription> parameters;
  std::vector<std::string> notes;  // what it assumes about waiting jobs that lack facts, one sentence each
};
BOOST_DESCRIBE_STRUCT(PolicyDescription, (),
                      (name, title, summary, good_for, weak_for, placement, needs, aliases, preemptive, elastic,
                       work_conserving, parameters, notes))

// `missing`: the facts that waiting jobs lack.
PolicyDescription describe(const PolicyInfo& info, const MissingFacts& missing = {});

}  // namespace sl
