#include "wire/utf8.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace sl::wire {
namespace {

// How many ASCII characters it begins with: eight are looked at at once.
std::size_t ascii_length(std::string_view bytes) {
  std::size_t length = 0;
  for (std::uint64_t eight = 0; length + sizeof eight <= bytes.size(); length += sizeof eight) {
    std::memcpy(&eight, bytes.data() + length, sizeof eight);
    if ((eight & 0x8080808080808080U) != 0) break;
  }
  while (length < bytes.size() && static_cast<unsigned char>(bytes[length]) < 0x80) ++length;
  return length;
}

}  // namespace

std::size_t character_length(std::string_view bytes) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const unsigned char lead = at(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
  if (length == 0 || bytes.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((at(i) & 0xC0) != 0x80) return 0;
  }
  const unsigned char second = at(1);
  const bool is_overlong = (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
  const bool is_outside = (lead == 0xED && second >= 0xA0) || (lead == 0xF4 && second >= 0x90);
  return is_overlong || is_outside ? 0 : length;
}

bool is_utf8(std::string_view bytes) {
  for (bytes.remove_prefix(ascii_length(bytes)); !bytes.empty(); bytes.remove_prefix(ascii_length(bytes))) {
    const std::size_t length = character_length(bytes);
    if (length == 0) return false;
    bytes.remove_prefix(length);
  }
  return true;
}

std::string as_utf8(std::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    const std::size_t length = character_length(bytes);
    length > 0 ? text.append(bytes.substr(0, length)) : text.append("\xEF\xBF\xBD");
    bytes.remove_prefix(length > 0 ? length : 1);
  }
  return text;
}

std::string_view first_characters(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  while (bytes_max > 0 && (static_cast<unsigned char>(text[bytes_max]) & 0xC0) == 0x80) --bytes_max;
  return text.substr(0, bytes_max);
}

std::size_t whole_characters(std::string_view bytes) {
  for (std::size_t back = 1; back <= std::min<std::size_t>(3, bytes.size()); ++back) {
    const auto lead = static_cast<unsigned char>(bytes[bytes.size() - back]);
    if ((lead & 0xC0) == 0x80) continue;  // it begins no character
    const std::size_t length = lead < 0xC2 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 1;
    return length > back ? bytes.size() - back : bytes.size();
  }
  return bytes.size();
}

bool has_control_characters(std::string_view text) {
  unsigned char before = 0;
  for (const char each : text) {
    const auto c = static_cast<unsigned char>(each);
    if (c < 0x20 || c == 0x7F || (before == 0xC2 && c < 0xA0)) return true;
    before = c;
  }
  return false;
}

}  // namespace sl::wire
