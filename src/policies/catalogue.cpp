#include "policies/catalogue.h"

namespace sl {
namespace {

ParameterDescription describe(const ParameterInfo& p) {
  ParameterDescription described{p.name, to_string(p.type), p.unit, p.default_value, {}, {}, p.choices, p.help};
  if (p.min < p.max) described.min = p.min, described.max = p.max;
  return described;
}

}  // namespace

PolicyDescription describe(const PolicyInfo& info, const MissingFacts& missing) {
  PolicyDescription described;
  described.name = info.name;
  described.title = info.title;
  described.summary = info.summary;
  described.good_for = info.good_for;
  described.weak_for = info.weak_for;
  described.placement = info.placement;
  for (const Need& need : info.needs) described.needs.emplace_back(to_string(need));
  described.aliases = info.aliases;
  described.preemptive = info.preemptive;
  described.elastic = info.elastic;
  described.work_conserving = info.work_conserving;
  for (const ParameterInfo& p : info.parameters) described.parameters.push_back(describe(p));
  described.notes = missing.sentences(info.needs, "waiting");
  return described;
}

}  // namespace sl
