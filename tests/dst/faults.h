// Which faults a history has, and how often. Drawn from the seed, with each kind left out half of the time (swarm
// testing: rare combinations come up sooner).
#pragma once

#include "base/random.h"

namespace sl::dst {

struct Faults {
  double crash = 0;  // at each step of a process that the world sees
  double frame = 0;  // a message is lost, duplicated or overtaken
  bool partitions = false;
  bool freezes = false;
  bool power_cuts = false;
  bool full_disks = false;    // the controller's
  bool full_servers = false;  // servers that can start nothing
  bool kills = false;         // of daemons, at any time
  bool drift = false;         // servers' clocks run up to half a percent fast or slow
  bool missing_gpus = false;
  bool engines = false;  // of containers: slow, deaf, restarted; strangers

  static Faults draw(Random& random) {
    Faults faults;
    if (random.chance(0.5)) faults.crash = random.uniform(0.0002, 0.01);
    if (random.chance(0.3)) faults.frame = random.uniform(0.001, 0.03);
    for (bool* kind : {&faults.partitions, &faults.freezes, &faults.power_cuts, &faults.full_disks,
                       &faults.full_servers, &faults.kills, &faults.drift, &faults.missing_gpus, &faults.engines})
      *kind = random.chance(0.5);
    return faults;
  }
};

// Faults planted by us, to see that the checks find them.
enum class Plant {
  none,
  skip_fsync,
  no_lease,
  leader_only,  // an attempt counts as ended when its leader has ended
  no_warden,    // processes started by fenced leaders outlive a killed launcher
  no_lock,      // the first process of a container does not look whether anybody still runs it
  no_gate,      // nor waits until whoever freezes or ends the attempt reaches it
};

}  // namespace sl::dst
