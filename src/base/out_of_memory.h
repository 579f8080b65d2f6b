// What a user reads of a job that the kernel has denied memory, whatever ran it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace sl {

// `asked`: what the job may have here; empty: it asked for nothing. `peak`: the most that it had.
inline std::string out_of_memory_text(std::optional<std::int64_t> asked, std::optional<std::int64_t> peak) {
  const auto in_mebibytes = [](std::int64_t bytes) { return std::to_string((bytes + (1 << 19)) >> 20) + " MiB"; };
  if (!asked) return "its server had no memory left for it";
  return "it wanted more memory than the " + in_mebibytes(*asked) + " that it asked for" +
         (peak ? "; it had up to " + in_mebibytes(*peak) : "");
}

}  // namespace sl
