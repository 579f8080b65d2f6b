// Traces as text: our CSV, which read_trace reads again without loss, and the Standard Workload Format. What a format
// cannot hold is left out and counted.
#pragma once

#include <string>
#include <vector>

#include "sim/trace.h"

namespace sl::sim {

// The four needed columns, the user, and every other that says something of any job.
std::string to_csv(const Trace& trace);

// Version 2.2 of the archive's definition. Ids, users and groups are numbers there: names that are none are numbered.
std::string to_swf(const Trace& trace);

// What these jobs have that our CSV cannot say, in words: "epochs"…
std::vector<std::string> lost_in_csv(const Trace& trace);
std::vector<std::string> lost_in_swf(const Trace& trace);

}  // namespace sl::sim
