// Fuzz target: the Philly importer.
#include <cstddef>
#include <cstdint>
#include <string>

#include "invariants.h"
#include "trace/import/importer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sl::trace;
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (const auto imported = import_philly(text, {}); imported.ok()) {
    check_trace(imported->trace);
    check_round_trip(imported->trace);
  }
  return 0;
}
