// What Schedulearn adds to stopping and continuing a job, and to starting one on several servers.
#pragma once

#include <vector>

#include "daemons.h"

namespace sl::bench {

struct Verbs {
  std::vector<double> suspend_s;  // from the request until the job is `suspended`, durably
  std::vector<double> resume_s;   // … `running` again
  std::vector<double> raw_s;      // SIGSTOP to one process until the kernel shows it stopped
  std::vector<double> resize_s;   // from the request until the next attempt runs, less what the training took itself
};
// The lab has one agent with at least 2 GPUs, and nothing on it.
Verbs measure_verbs(Lab& lab, int times);

// Submission of a job on so many servers until all its parts run. The lab has as many agents with a GPU each.
std::vector<double> start_gangs(Lab& lab, int servers, int times);

}  // namespace sl::bench
