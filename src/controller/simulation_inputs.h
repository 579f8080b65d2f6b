// The cluster itself as a simulation takes it: its past as a trace (docs/formats/trace.md), its servers as a cluster file
// (docs/formats/cluster.md).
#pragma once

#include <string>

#include "core/core.h"
#include "store/store.h"

namespace sl::controller {

inline constexpr std::size_t past_jobs_max = 20'000;

// The jobs that ended since then after they had run, the latest past_jobs_max of them: each on the GPUs that it had on
// average, for as long as it ran, with what it was submitted to come after. Arrays stay arrays, as far as what their members
// had was alike. Those without GPUs only on request: then all state their CPUs and memory too. Errors: "trace-empty" if
// there are none, and the reader's. On a thread of the history.
Result<std::string> past_as_trace(store::Reader& reader, std::int64_t since_us, bool keeps_cpu_jobs);

// The servers with GPUs that are part of the cluster, whether up or not; with their CPUs and memory if jobs state theirs.
// Error "no-servers".
Result<std::string> servers_as_file(const Core& core, bool with_cpus);

}  // namespace sl::controller
