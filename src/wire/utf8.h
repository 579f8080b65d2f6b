// UTF-8 (RFC 3629: no overlong forms, no surrogates, nothing beyond U+10FFFF).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sl::wire {

// How many of the bytes, of which there is at least one, are their first character; 0 if they begin with none.
std::size_t character_length(std::string_view bytes);
bool is_utf8(std::string_view bytes);
// The same text with U+FFFD for each byte that is not UTF-8, as JSON needs it.
std::string as_utf8(std::string_view bytes);
// As many whole characters of it as fit into so many bytes.
std::string_view first_characters(std::string_view text, std::size_t bytes_max);
// How many of the bytes there are without a last character of which the end is missing.
std::size_t whole_characters(std::string_view bytes);
// Whether it has a control character: U+0000 to U+001F, U+007F to U+009F.
bool has_control_characters(std::string_view text);

}  // namespace sl::wire
