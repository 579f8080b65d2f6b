// A diff as git prints it, read at a terminal.
#pragma once

#include <string>
#include <string_view>

namespace sl::cli {

// Its lines as visible() has them, with the colours that git gives them if `color`. Of binary files there is only that they
// differ.
std::string diff_text(std::string_view diff, bool color);

}  // namespace sl::cli
