// Which faults a history has, and how often. Drawn from the seed, each kind left out half of the time (swarm testing:
// rare combinations come up sooner).
#pragma once

#include "base/random.h"

namespace sl::dst {

struct Faults {
  double crash = 0;  // at each thing a process does that the world sees
  double frame = 0;  // a message is lost, doubled or overtaken
  bool partitions = false;
  bool freezes = false;
  bool power_cuts = false;
  bool full_disks = false;
  bool kills = false;  // of daemons, at any time
  bool drift = false;  // servers' clocks run up to half a percent fast or slow

  static Faults draw(Random& random) {
    Faults faults;
    if (random.chance(0.5)) faults.crash = random.uniform(0.0002, 0.01);
    if (random.chance(0.3)) faults.frame = random.uniform(0.001, 0.03);
    for (bool* kind :
         {&faults.partitions, &faults.freezes, &faults.power_cuts, &faults.full_disks, &faults.kills, &faults.drift})
      *kind = random.chance(0.5);
    return faults;
  }
};

// Faults of ours, to see that the checks find them.
enum class Plant { none, skip_fsync, no_lease };

}  // namespace sl::dst
