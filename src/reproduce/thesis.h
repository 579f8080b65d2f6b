// What the experiments of the Schedulearn thesis have in common.
#pragma once

namespace sl::reproduce {

inline constexpr const char* thesis_source = "Schedulearn thesis, section 5 (code: bsraya/schedulearn)";
inline constexpr const char* thesis_policies[] = {"fifo", "round_robin", "elastic_fifo"};

}  // namespace sl::reproduce
