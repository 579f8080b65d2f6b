// UTF-8 (RFC 3629: no overlong forms, no surrogates, nothing beyond U+10FFFF).
#pragma once

#include <cstddef>
#include <string_view>

namespace sl::wire {

// How many of the bytes, of which there is at least one, are their first character; 0 if they begin with none.
std::size_t character_length(std::string_view bytes);
bool is_utf8(std::string_view bytes);

}  // namespace sl::wire
