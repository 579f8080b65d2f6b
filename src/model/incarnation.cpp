#include "model/incarnation.h"

#include <charconv>

namespace sl {
namespace {

// Takes the number at the beginning of `text`, and the dot after it.
template <typename Number>
bool take(std::string_view& text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (text.empty()) return true;
  if (text.front() != '.') return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

std::string key_of(const Incarnation& incarnation) {
  std::string key = std::to_string(incarnation.job) + "." + std::to_string(incarnation.attempt);
  if (incarnation.number != 0) key += "." + std::to_string(incarnation.number) + "." + incarnation.cluster;
  return key;
}

std::optional<Incarnation> parse_key(std::string_view key) {
  Incarnation incarnation;
  if (!take(key, incarnation.job) || !take(key, incarnation.attempt)) return std::nullopt;
  if (key.empty()) return incarnation;
  if (!take(key, incarnation.number)) return std::nullopt;
  incarnation.cluster = key;
  return incarnation;
}

}  // namespace sl
