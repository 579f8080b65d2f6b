// What others wrote, for a terminal or one line of a text.
#pragma once

#include <string>
#include <string_view>

namespace sl::wire {

// What a terminal would obey as something to read: ^[ for an escape, <U+202E> for marks that turn the direction, U+FFFD
// for what is no UTF-8. Line breaks and tabs stay.
std::string visible(std::string_view text);
// Of a name, which is one line: also line breaks and tabs.
std::string visible_name(std::string_view name);

}  // namespace sl::wire
