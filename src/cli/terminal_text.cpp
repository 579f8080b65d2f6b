#include "cli/terminal_text.h"

#include <algorithm>
#include <utility>

namespace sl::cli {
namespace {

constexpr char sequence_begin = '\033', bell = '\a';
constexpr std::size_t sequence_most = 64;

bool is_any_of(char c, std::string_view of) { return of.find(c) != std::string_view::npos; }
bool is_control(char c) { return (c >= 0 && c < ' ') || c == '\x7f'; }

// U+0080 to U+009F, which terminals obey, are this byte and one more in UTF-8. Terminals that do not read UTF-8 obey the
// second byte alone.
constexpr char wide_control_begin = '\xc2';
bool is_control_byte(char c) { return static_cast<unsigned char>(c) >= 0x80 && static_cast<unsigned char>(c) < 0xa0; }
bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

// How many bytes follow this first one of a character in UTF-8.
int bytes_after(char first) {
  const auto byte = static_cast<unsigned char>(first);
  if (byte < 0xc2 || byte > 0xf4) return 0;
  return byte >= 0xf0 ? 3 : byte >= 0xe0 ? 2 : 1;
}

}  // namespace

std::string TerminalText::add(std::string_view bytes) {
  std::string shown;
  shown.reserve(bytes.size());
  for (const char c : bytes) add(c, shown);
  return shown;
}

std::string TerminalText::finish() { return std::string(take_held()) + (is_styled_ ? "\033[0m" : ""); }

void TerminalText::add(char c, std::string& shown) {
  switch (within_) {
    case Within::text:
      if (c != sequence_begin) return add_text(c, shown);
      shown += take_held();
      expected_ = 0;  // no character goes on behind an escape
      within_ = Within::escape;
      return;
    case Within::escape:
      sequence_.clear();
      within_ = c == '['                            ? Within::sequence
                : is_any_of(c, "]PX^_")             ? Within::string
                : is_any_of(c, " !\"#$%&'()*+,-./") ? Within::escape  // more of it follows
                                                    : Within::text;
      return;
    case Within::sequence:
      if (c >= '@' && c <= '~') {
        end_sequence(c, shown);
      } else if (is_control(c)) {
        within_ = Within::text;
        return add(c, shown);
      } else if (sequence_.size() < sequence_most) {
        sequence_ += c;
      }
      return;
    case Within::string:
      if (c == bell || c == '\n') within_ = Within::text;
      if (c == '\n') shown += c;  // one that never ends hides no further line
      if (c == sequence_begin) within_ = Within::string_escape;
      return;
    case Within::string_escape:
      within_ = c == '\\' ? Within::text : Within::string;
      return;
  }
}

void TerminalText::add_text(char c, std::string& shown) {
  const std::string_view held = take_held();
  if (is_control_byte(c) && (expected_ == 0 || !held.empty())) {
    shown += '?';
  } else {
    shown += held;
    is_held_ = c == wide_control_begin;
    if (!is_held_ && (!is_control(c) || is_any_of(c, "\n\r\t\b"))) shown += c;
  }
  expected_ = is_continuation(c) && expected_ > 0 ? expected_ - 1 : bytes_after(c);
}

std::string_view TerminalText::take_held() {
  return std::exchange(is_held_, false) ? std::string_view(&wide_control_begin, 1) : std::string_view();
}

void TerminalText::end_sequence(char last, std::string& shown) {
  within_ = Within::text;
  const bool is_plain = std::ranges::all_of(sequence_, [](char c) { return is_any_of(c, "0123456789;:"); });
  if (!is_plain || sequence_.size() == sequence_most || !is_any_of(last, "mK")) return;  // colours, erasing in the line
  shown += std::string("\033[") + sequence_ + last;
  if (last == 'm') is_styled_ = !sequence_.empty() && sequence_ != "0";
}

}  // namespace sl::cli
