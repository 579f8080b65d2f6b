// What a job of a trace asks a cluster for, as policies see it.
#pragma once

#include "policy/needs.h"
#include "sim/cluster.h"
#include "sim/trace.h"

namespace sl::sim {

// Without what a core interns: id, user, family, GPU types.
JobRequest request_of(const Trace& trace, const TraceJob& job, const Cluster& cluster);

// What policies would like to know of the jobs and are not told. With `knows_durations` they are told every run time.
MissingFacts missing_facts(const Trace& trace, const Cluster& cluster, bool knows_durations);

}  // namespace sl::sim
