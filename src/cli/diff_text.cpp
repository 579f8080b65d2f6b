#include "cli/diff_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "cli/render.h"

namespace sl::cli {
namespace {

// Colours line after line. The head of a hunk says how many lines it has: a removed line that begins with "--" is no
// head of a file.
class DiffColors {
 public:
  // What the terminal is told before the line; empty: nothing.
  const char* of(std::string_view line) {
    const char sign = line.empty() ? ' ' : line.front();
    if (before_ > 0 || after_ > 0) {
      if (sign != '+' && sign != '\\') --before_;
      if (sign != '-' && sign != '\\') --after_;
      return sign == '+' ? "\x1b[32m" : sign == '-' ? "\x1b[31m" : "";
    }
    if (line.starts_with("@@")) {
      begin_hunk(std::string(line));
      return "\x1b[36m";
    }
    return sign == '\\' ? "" : "\x1b[1m";
  }

 private:
  // "@@ -3 +3,2 @@"
  void begin_hunk(const std::string& line) {
    int from = 0;
    before_ = after_ = 1;
    if (std::sscanf(line.c_str(), "@@ -%d,%d +%d,%d", &from, &before_, &from, &after_) == 4) return;
    before_ = after_ = 1;
    if (std::sscanf(line.c_str(), "@@ -%d +%d,%d", &from, &from, &after_) == 3) return;
    before_ = after_ = 1;
    std::sscanf(line.c_str(), "@@ -%d,%d", &from, &before_);
  }

  int before_ = 0, after_ = 0;  // lines of the hunk that are still to come
};

}  // namespace

std::string diff_text(std::string_view diff, bool color) {
  std::string text;
  DiffColors colors;
  bool is_binary = false;  // what follows is for git
  while (!diff.empty()) {
    const std::string_view line = diff.substr(0, std::min(diff.find('\n'), diff.size()));
    diff.remove_prefix(std::min(line.size() + 1, diff.size()));
    is_binary = is_binary && !line.starts_with("diff --") && !line.starts_with("# ");
    if (is_binary) continue;
    is_binary = line == "GIT binary patch";
    const std::string_view begin = color ? colors.of(line) : "";
    text += fmt::format("{}{}{}\n", begin, visible(line), begin.empty() ? "" : "\x1b[0m");
  }
  return text;
}

}  // namespace sl::cli
