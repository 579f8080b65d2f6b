// Workloads generated from a seed instead of read from a file: statistical ones (poisson, uniform, burst, philly-like)
// and those of the works Schedulearn builds on (policies.md 0.5, 7, 8.2, 9.2, 10.4, 11.5). The same name, parameters
// and seed give the same trace on every machine. Ten million statistical jobs take a few seconds and about 50 bytes
// each; a deadline or an estimate, which differs from job to job, costs about 250 bytes more.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/parameters.h"
#include "trace/trace.h"

namespace sl::trace {

struct WorkloadInfo {
  std::string name, title;
  std::string summary;  // one sentence
  std::vector<ParameterInfo> parameters;
};

// All workloads, in the order in which people should read them.
std::vector<WorkloadInfo> workloads();

// Whether `spec` names a workload: "poisson", "poisson:jobs=1000,load=0.9". To name a file called poisson, write
// "./poisson".
bool is_workload(const std::string& spec);

// The trace of a spec, with the options applied to it; its load is for `options.cluster_gpus` unless the spec says
// otherwise. Errors: "unknown-workload", "unknown-parameter",
// "bad-parameter", and those of finish_trace.
Result<Trace> make_workload(const std::string& spec, std::uint64_t seed, const TraceOptions& options);

// What `--trace` names: a workload, else a file.
Result<Trace> open_trace(const std::string& source, std::uint64_t seed, const TraceOptions& options);

}  // namespace sl::trace
