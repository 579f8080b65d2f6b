// Fuzz target: names of workloads with parameters. Beyond 1000 jobs the time would go into jobs, not into parsing.
#include <cstddef>
#include <cstdint>
#include <string>

#include "invariants.h"
#include "trace/workloads.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sl::trace;
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (size > 200) return 0;
  for (std::size_t at = text.find("jobs="); at != std::string::npos; at = text.find("jobs=", at + 1)) {
    if (text.find_first_not_of("0123456789", at + 5) > at + 8) return 0;
  }
  if (text.find("tasks=") != text.npos || text.find("of_each=") != text.npos) return 0;
  if (const auto trace = make_workload(text, 1, {}); trace.ok()) {
    check_trace(*trace);
    check_round_trip(*trace);
  }
  return 0;
}
