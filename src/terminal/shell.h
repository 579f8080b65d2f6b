// A shell that runs at a terminal of its own, and what of it goes over the terminal.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace sl::terminal {

struct ShellOrder {
  std::vector<std::string> command;  // empty: the user's shell
  std::string term = "xterm-256color";
  int columns = 80, rows = 24;
};

class Shell {
 public:
  virtual ~Shell() = default;  // it has ended
  // Its terminal: what it prints is read there, what is typed is written. Does not block.
  virtual int descriptor() const = 0;
  virtual void resize(int columns, int rows) = 0;
  virtual void signal(int number) = 0;
  // Its exit code, 128 + the signal that ended it; nothing: it still runs. -1: it has ended, and nobody knows how.
  virtual std::optional<int> exit_code() = 0;
};

// Beside this process, with its environment, in the folder that $PWD names.
Result<std::unique_ptr<Shell>> start_here(const ShellOrder& order);
// In the container of the attempt whose folder this is (container/order.h).
Result<std::unique_ptr<Shell>> start_in_container(const std::string& folder, const ShellOrder& order);

}  // namespace sl::terminal
