// `schedulearn trace info|import|export|gen|ls`: traces without running anything. A trace goes to a file or, without
// --out, to standard output; then reports go to standard error.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "base/result.h"

namespace sl::sim {

struct TraceFilter {
  int gpus_max = 0;               // 0: as wide as they are
  std::string oversize = "drop";  // wider ones: drop, fail, clip
  double duration_min_s = 0;
  double duration_max_s = 0;  // 0: as long as they are
  std::int64_t jobs = 0;      // the first so many; 0: all
};

struct TraceCommand {
  std::string source;               // file or workload
  std::vector<std::string> files;   // import
  std::string format = "csv";       // of import or export
  std::vector<std::string> values;  // gen: KEY=VALUE
  std::uint64_t seed = 1;
  std::string servers;  // info: load against this cluster, "32x8"
  std::string out = "-";
  TraceFilter filter;
  bool json = false;
};

struct Outputs {
  std::ostream& out;     // standard output
  std::ostream& report;  // standard error
};

Status trace_info(const TraceCommand& command, const Outputs& to);
Status trace_import(const TraceCommand& command, const Outputs& to);  // format: philly, helios, pai, swf
Status trace_export(const TraceCommand& command, const Outputs& to);
Status trace_generate(const TraceCommand& command, const Outputs& to);
Status trace_list(const TraceCommand& command,
                  const Outputs& to);  // source: one workload with all parameters, or empty

}  // namespace sl::sim
