// Where the next page of a list begins: text that only means something to the list that issued it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sl::controller {

// `list`: the path of the list, "/api/v1/jobs". `position`: not negative.
std::string cursor_text(std::string_view list, std::int64_t position);
// The position. Errors: "bad-cursor" (malformed, or another list's).
Result<std::int64_t> parse_cursor(std::string_view list, std::string_view text);

}  // namespace sl::controller
