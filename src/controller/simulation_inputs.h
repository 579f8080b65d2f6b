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
// had was alike. Errors: "trace-empty" if there are none, and the reader's. On a thread of the history.
Result<std::string> past_as_trace(store::Reader& reader, std::int64_t since_us);

// The servers that are part of the cluster, whether up or not. Error "no-servers".
Result<std::string> servers_as_file(const Core& core);

}  // namespace sl::controller
