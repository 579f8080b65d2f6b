// The browser of the desktop that a command is started on.
#pragma once

#include <string>

namespace sl::cli {

bool has_desktop();
// Waits until xdg-open has found one, or without a desktop environment until the browser has been closed. False: there
// is none.
bool open_browser(const std::string& address);

}  // namespace sl::cli
