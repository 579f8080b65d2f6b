// Fuzz target: the PAI importer. Its two tables are one input, separated by a line of two percent signs.
#include <cstddef>
#include <cstdint>
#include <string>

#include "invariants.h"
#include "trace/import/importer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sl::trace;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::string divider = "\n%%\n";
  const std::size_t at = text.find(divider);
  if (at == std::string::npos) return 0;
  if (const auto imported = import_pai(text.substr(0, at + 1), text.substr(at + divider.size()), {}); imported.ok()) {
    check_trace(imported->trace);
    check_round_trip(imported->trace);
  }
  return 0;
}
