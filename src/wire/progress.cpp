#include "wire/progress.h"

#include <charconv>
#include <cmath>

namespace sl::wire {
namespace {

constexpr std::string_view done_mark = "{done}", total_mark = "{total}";
constexpr std::size_t pattern_bytes_max = 200;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_blank(char c) { return c == ' ' || c == '\t'; }

std::size_t count_of(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string_view::npos; at += part.size()) ++count;
  return count;
}

// Takes a number, "12" or "12.5", from the front.
std::optional<double> take_number(std::string_view& text) {
  if (text.empty() || !is_digit(text.front())) return std::nullopt;
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc() || !(number < 1e15)) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

bool take_blanks(std::string_view& text) {
  const std::size_t before = text.size();
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  return text.size() < before;
}

// At the front of the text.
std::optional<FoundProgress> match(std::string_view pattern, std::string_view text) {
  FoundProgress found;
  while (!pattern.empty()) {
    const bool is_done = pattern.starts_with(done_mark);
    if (is_done || pattern.starts_with(total_mark)) {
      const auto number = take_number(text);
      if (!number) return std::nullopt;
      is_done ? static_cast<void>(found.done = *number) : static_cast<void>(found.total = *number);
      pattern.remove_prefix((is_done ? done_mark : total_mark).size());
    } else if (pattern.front() == ' ') {
      if (!take_blanks(text)) return std::nullopt;
      pattern.remove_prefix(1);
    } else {
      if (text.empty() || text.front() != pattern.front()) return std::nullopt;
      text.remove_prefix(1), pattern.remove_prefix(1);
    }
  }
  return found;
}

}  // namespace

Status check_progress_pattern(const std::string& pattern) {
  const char* const wrong = pattern.size() > pattern_bytes_max  ? "is longer than 200 bytes"
                            : count_of(pattern, done_mark) != 1 ? "names {done} not once"
                            : count_of(pattern, total_mark) > 1 ? "names {total} twice"
                            : pattern.find("  ") != std::string::npos
                                ? "has two spaces; one stands for any number of blanks"
                            : pattern.find('\n') != std::string::npos ? "is more than one line"
                                                                      : nullptr;
  if (!wrong) return {};
  return invalid("bad-progress", std::string("the pattern of progress ") + wrong)
      .hint("pattern = \"epoch {done}/{total}\"");
}

std::optional<FoundProgress> find_progress(const ProgressSpec& spec, std::string_view line) {
  std::optional<FoundProgress> last;
  const bool begins_with_number = spec.pattern.starts_with('{');
  for (std::size_t at = 0; at < line.size(); ++at) {
    const bool is_inside = at > 0 && (is_digit(line[at - 1]) || line[at - 1] == '.');
    if (begins_with_number && is_inside) continue;
    if (auto found = match(spec.pattern, line.substr(at))) last = found;
  }
  if (last && !last->total) last->total = spec.total;
  return last;
}

}  // namespace sl::wire
