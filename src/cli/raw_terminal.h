// The terminal of this process, for a program elsewhere: what is typed goes there as it is, Ctrl-C included.
#pragma once

#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

namespace sl::cli {

class RawTerminal {
 public:
  RawTerminal() : is_one_(::isatty(0) == 1 && ::tcgetattr(0, &before_) == 0) {
    if (!is_one_) return;
    termios raw = before_;
    ::cfmakeraw(&raw);
    ::tcsetattr(0, TCSANOW, &raw);
  }
  ~RawTerminal() {
    if (is_one_) ::tcsetattr(0, TCSADRAIN, &before_);
  }
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;

  bool is_one() const { return is_one_; }
  struct Size {
    int columns = 80, rows = 24;
  };
  static Size size() {
    winsize size{};
    if (::ioctl(1, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {};
    return {size.ws_col, size.ws_row};
  }

 private:
  termios before_{};
  bool is_one_;
};

}  // namespace sl::cli
