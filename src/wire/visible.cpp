#include "wire/visible.h"

#include <algorithm>

#include "wire/utf8.h"

namespace sl::wire {
namespace {

std::string code_point(const char* high, int low) {
  constexpr char digits[] = "0123456789ABCDEF";
  return std::string("<U+") + high + digits[low >> 4] + digits[low & 0xF] + '>';
}

}  // namespace

std::string visible_name(std::string_view name) {
  std::string shown;
  for (const char c : visible(name)) shown += c == '\n' ? "^J" : c == '\t' ? "^I" : std::string(1, c);
  return shown;
}

std::string visible(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    const std::string_view character = text.substr(0, std::max<std::size_t>(1, length));
    const auto first = static_cast<unsigned char>(character.front());
    const auto last = static_cast<unsigned char>(character.back());
    const bool turns = (character.starts_with("\xE2\x80") && last >= 0xAA && last <= 0xAE) ||
                       (character.starts_with("\xE2\x81") && last >= 0xA6 && last <= 0xA9);
    if (length == 0)
      shown += "\xEF\xBF\xBD";
    else if ((first < 0x20 && first != '\n' && first != '\t') || first == 0x7F)
      shown += {'^', static_cast<char>(first ^ 0x40)};
    else if (turns)
      shown += code_point("20", character[1] == '\x80' ? last - 0x80 : last - 0x40);
    else if (first == 0xC2 && last < 0xA0)
      shown += code_point("00", last);
    else
      shown += character;
    text.remove_prefix(character.size());
  }
  return shown;
}

}  // namespace sl::wire
