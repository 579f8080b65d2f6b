// Names that people type, in paths of addresses too: users, tokens, servers.
#pragma once

#include <string_view>

#include "base/result.h"

namespace sl::wire {

// Whether it has up to 64 letters, digits and characters of `more`, and begins with neither - nor a dot.
bool is_name(std::string_view name, std::string_view more);

// Error: "server-name".
Status check_server_name(std::string_view name);

}  // namespace sl::wire
