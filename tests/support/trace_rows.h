// Traces written as rows in a test.
#pragma once

#include <string>
#include <utility>

#include "trace/trace.h"

namespace sl::test {

// "a,0,1,100\n" is job a, submitted at 0 s for one GPU and 100 s; `more_columns` ",user" names what follows.
inline trace::Trace trace_of(const std::string& rows, const std::string& more_columns = "",
                             const trace::TraceOptions& options = {}) {
  auto trace = trace::parse_trace("job_id,submit_time_s,gpus,duration_s" + more_columns + "\n" + rows, options);
  SL_CHECK(trace.ok(), "the traces of tests are valid");
  return std::move(*trace);
}

}  // namespace sl::test
