// What interruptions of trainings have cost, by family: measured by the controller, read by the simulator (`sim --costs`).
// docs/formats/costs.md describes the file.
#pragma once

#include <boost/describe.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sl::wire {

// Means over the latest interruptions, in seconds. A number of 0: none was measured, and its means say nothing.
struct FamilyCosts {
  std::string family;
  int stops = 0;          // at a checkpoint
  double stop_s = 0;      // from the decision until it had ended
  int starts = 0;         // again, from a checkpoint
  double start_s = 0;     // from the start to the first step
  double repeated_s = 0;  // steps done a second time
  int freezes = 0;
  double freeze_s = 0;  // from the decision until it stood still
  int thaws = 0;
  double thaw_s = 0;  // from the decision until it went on, its GPUs being free
  friend bool operator==(const FamilyCosts&, const FamilyCosts&) = default;
  bool has_restart() const { return starts > 0; }
  // What policies weigh: from the decision to stop it until it has done again what it had done.
  double restart_s() const { return (stops > 0 ? stop_s : 0) + start_s + repeated_s; }
};
BOOST_DESCRIBE_STRUCT(FamilyCosts, (),
                      (family, stops, stop_s, starts, start_s, repeated_s, freezes, freeze_s, thaws, thaw_s))

struct CostsDocument {
  int schedulearn_costs = 1;  // version of the format
  std::vector<FamilyCosts> families;
};
BOOST_DESCRIBE_STRUCT(CostsDocument, (), (schedulearn_costs, families))

// Errors: "malformed-json", "unknown-key", "wrong-type", "costs-version" (made by a later Schedulearn), "bad-costs".
Result<CostsDocument> parse_costs(std::string_view text);

// The means of all families together, each weighted by how often it was measured.
FamilyCosts mean_of(const std::vector<FamilyCosts>& families);

}  // namespace sl::wire
