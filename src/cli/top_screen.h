// The terminal as a screen of styled lines (ncurses). One exists at a time.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/result.h"
#include "cli/top_view.h"

namespace sl::cli {

// Keys that are no characters.
enum Key : int {
  no_key = -1,
  key_up = 0x110000,
  key_down,
  key_page_up,
  key_page_down,
  key_enter,
  key_escape,
  key_erase
};

class Screen {
 public:
  virtual ~Screen() = default;  // the terminal is as it was
  virtual TopSize size() const = 0;
  virtual void draw(const std::vector<StyledLine>& lines) = 0;
  // The next character or Key; no_key after a tenth of a second.
  virtual int key() = 0;
  // Runs `work` on the terminal as it was before, then waits until the user has seen it.
  virtual void leave_for(const std::function<void()>& work) = 0;

  // `is_light`: of the terminal. Error "no-terminal".
  static Result<std::unique_ptr<Screen>> open(bool is_light);
};

}  // namespace sl::cli
