// Parses text that is a whole number from its first to its last character.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace sl {

inline std::optional<std::int64_t> parse_whole_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

}  // namespace sl
