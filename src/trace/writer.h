// Traces as text: our CSV, which read_trace reads without loss, and the Standard Workload Format. What a format cannot
// hold is left out and counted.
#pragma once

#include <string>
#include <vector>

#include "trace/trace.h"

namespace sl::trace {

// The four required columns, the user, and every other column that has a value for any job.
std::string to_csv(const Trace& trace);

// Version 2.2 of the archive's definition. Ids, users and groups are numbers there: other names are numbered.
std::string to_swf(const Trace& trace);

// What these jobs have that our CSV cannot hold, in words: "epochs"…
std::vector<std::string> lost_in_csv(const Trace& trace);
std::vector<std::string> lost_in_swf(const Trace& trace);

}  // namespace sl::trace
