// Long output goes through the program that $PAGER names, if it is read at a terminal.
#pragma once

#include <sys/types.h>

#include <CLI/CLI.hpp>
#include <string>

namespace sl::cli {

// What standard output is when the program starts; later it may be a pager's input.
struct OutputTerminal {
  bool is_one = false;
  std::size_t columns = 0;  // 0: it is none
};
OutputTerminal output_terminal();

// Whether the command on the parsed command line may print more than fits a screen.
bool is_long(const CLI::App& root);

// While it lives, standard output is the input of `program`, a line for the shell; then it waits for the user to leave
// it. "" and "cat": nothing of this. `less` ends at once if all fits the screen, unless $LESS says otherwise.
class Pager {
 public:
  explicit Pager(const std::string& program);
  ~Pager();
  Pager(const Pager&) = delete;
  Pager& operator=(const Pager&) = delete;

 private:
  pid_t process_ = 0;
};

}  // namespace sl::cli
