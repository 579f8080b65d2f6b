#include "wire/source_line.h"

#include <algorithm>

namespace sl::wire {
namespace {

std::string_view line_of(std::string_view text, std::size_t number) {
  for (std::size_t n = 1; n < number; ++n) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  return text.substr(0, text.find_first_of("\r\n"));
}

}  // namespace

std::string place_text(Place place) {
  return "line " + std::to_string(place.line) + ", column " + std::to_string(place.column);
}

Error with_source_line(Error error, std::string_view text, Place place) {
  constexpr std::size_t length_max = 160;
  const std::string_view line = line_of(text, place.line);
  const bool is_plain = std::none_of(line.begin(), line.end(), [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || static_cast<unsigned char>(c) >= 0x7F;
  });
  if (line.empty() || line.size() > length_max || !is_plain || place.column > line.size() + 1) return error;
  const std::string number = std::to_string(place.line);
  std::string shown(line);
  std::replace(shown.begin(), shown.end(), '\t', ' ');
  error.notes.push_back(number + " | " + shown);
  error.notes.push_back(std::string(number.size(), ' ') + " | " + std::string(place.column - 1, ' ') + "^");
  return error;
}

}  // namespace sl::wire
