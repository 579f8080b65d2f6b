// `schedulearn trace info|import|export|gen|ls`: traces without running anything. A trace goes to a file or, without
// --out, to standard output; in that case reports go to standard error.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "base/result.h"

namespace sl::cli {

struct TraceFilter {
  int gpus_max = 0;               // 0: no limit
  bool keep_cpu_jobs = false;     // those without a GPU
  std::string oversize = "drop";  // what to do with wider jobs: drop, fail, clip
  double duration_min_s = 0;
  double duration_max_s = 0;  // 0: no limit
  std::int64_t jobs = 0;      // only this many from the start; 0: all
  std::int64_t text_mib = 0;  // refuse a file with more text; 0: the reader's own limit
};

struct TraceCommand {
  std::string source;                 // file or workload
  std::vector<std::string> files;     // import
  std::string format = "csv";         // of import or export
  std::string extra_fields = "fail";  // import swf: fail, ignore
  std::vector<std::string> values;    // gen: KEY=VALUE
  std::uint64_t seed = 1;
  std::string servers;  // info: compute the load on this cluster, "32x8"
  std::string out = "-";
  TraceFilter filter;
  bool json = false, quiet = false;  // quiet: of a list its names
};

struct Outputs {
  std::ostream& out;     // standard output
  std::ostream& report;  // standard error
};

Status trace_info(const TraceCommand& command, const Outputs& to);
Status trace_import(const TraceCommand& command, const Outputs& to);  // format: philly, helios, pai, swf, pollux
Status trace_export(const TraceCommand& command, const Outputs& to);
Status trace_generate(const TraceCommand& command, const Outputs& to);
Status trace_list(const TraceCommand& command,
                  const Outputs& to);  // source: one workload with all parameters, or empty

}  // namespace sl::cli
