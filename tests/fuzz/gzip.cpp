// Fuzz target: gzip files, cut off, damaged or intact.
#include <cstddef>
#include <cstdint>
#include <string>

#include "invariants.h"
#include "trace/text_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sl::trace;
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (const auto inflated = inflate_text(text); inflated.ok()) {
    const auto trace = parse_trace(*inflated, {});
    if (trace.ok()) check_trace(*trace);
  }
  return 0;
}
