// Fuzz target: our CSV, once as a simulation reads it and once with everything.
#include <cstddef>
#include <cstdint>
#include <string>

#include "invariants.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sl::trace;
  const std::string text(reinterpret_cast<const char*>(data), size);
  TraceOptions options;
  options.gpus_max = 64;
  if (const auto trace = parse_trace(text, options); trace.ok()) check_trace(*trace);
  options.everything = true;
  if (const auto trace = parse_trace(text, options); trace.ok()) {
    check_trace(*trace);
    check_round_trip(*trace);
  }
  return 0;
}
