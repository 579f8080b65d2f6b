// A whole cluster in one thread: the production logic of controller, agents and launchers under virtual time, with a
// network, disks and processes that fail according to the seed. The same seed gives the same history.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dst/faults.h"

namespace sl::dst {

struct Outcome {
  std::string violation;  // empty: none
  std::uint64_t events = 0;
  std::size_t jobs = 0;
  std::vector<std::string> history;  // if requested
};

Outcome run_history(std::uint64_t seed, Plant plant, bool keep_history);

}  // namespace sl::dst
