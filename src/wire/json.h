// Converts structs described with Boost.Describe to JSON and back. The reader is made for input from people: a missing
// key keeps the default of the struct, null empties an optional, an unknown key is refused with the nearest known one
// (or tolerated, for messages of a newer peer), and every error names the place as a JSON pointer. A member with a
// trailing `_`, because the word is reserved in C++, stands for the key without it: `default_` is "default".
#pragma once

#include <algorithm>
#include <boost/describe.hpp>
#include <boost/json.hpp>
#include <boost/mp11.hpp>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/suggest.h"

namespace sl::wire {

enum class Unknown { reject, ignore };

// Parses the text. Error "malformed-json" with line and column.
Result<boost::json::value> parse_json(std::string_view text);

namespace detail {

Error wrong_type(const std::string& pointer, std::string_view expected);
// The pointer to `key` below `pointer`, escaped as in RFC 6901.
std::string pointer_to(const std::string& pointer, std::string_view key);
// The other way: takes the first key off a pointer, which begins with "/".
std::string take_key(std::string_view& pointer);
constexpr std::string_view key_of(std::string_view member) {
  if (member.ends_with('_')) member.remove_suffix(1);
  return member;
}
Error unknown_key(const std::string& pointer, std::string_view key, const std::vector<std::string_view>& known);

template <typename T>
inline constexpr bool is_optional = false;
template <typename T>
inline constexpr bool is_optional<std::optional<T>> = true;
template <typename T>
inline constexpr bool is_vector = false;
template <typename T>
inline constexpr bool is_vector<std::vector<T>> = true;
template <typename T>
inline constexpr bool is_map = false;
template <typename T>
inline constexpr bool is_map<std::map<std::string, T>> = true;
template <typename T>
using Members = boost::describe::describe_members<T, boost::describe::mod_public | boost::describe::mod_inherited>;

template <typename T>
Status read(const boost::json::value& value, T& into, Unknown unknown, const std::string& at);

template <typename T>
Status read_integer(const boost::json::value& value, T& into, const std::string& at) {
  std::int64_t number = 0;
  if (value.is_int64()) {
    number = value.get_int64();
  } else if (value.is_double() && value.get_double() == std::floor(value.get_double()) &&
             std::abs(value.get_double()) < 9e15) {
    number = static_cast<std::int64_t>(value.get_double());
  } else {
    return wrong_type(at, value.is_number() && !value.is_double() ? "a number in the allowed range" : "a whole number");
  }
  if (!std::in_range<T>(number)) return wrong_type(at, "a number in the allowed range");
  into = static_cast<T>(number);
  return {};
}

template <typename T>
Status read_struct(const boost::json::value& value, T& into, Unknown unknown, const std::string& at) {
  if (!value.is_object()) return wrong_type(at, "an object");
  const boost::json::object& object = value.get_object();
  Status status;
  std::size_t used = 0;
  boost::mp11::mp_for_each<Members<T>>([&](auto member) {
    constexpr std::string_view key = key_of(decltype(member)::name);
    const boost::json::value* found = object.if_contains(key);
    if (!found) return;
    ++used;
    if (status.ok()) status = read(*found, into.*member.pointer, unknown, pointer_to(at, key));
  });
  if (!status.ok() || used == object.size() || unknown == Unknown::ignore) return status;
  std::vector<std::string_view> known;
  boost::mp11::mp_for_each<Members<T>>([&](auto member) { known.push_back(key_of(member.name)); });
  for (const auto& [key, _] : object) {
    if (std::find(known.begin(), known.end(), std::string_view(key)) == known.end()) return unknown_key(at, key, known);
  }
  return {};
}

template <typename T>
Status read_elements(const boost::json::value& value, std::vector<T>& into, Unknown unknown, const std::string& at) {
  if (!value.is_array()) return wrong_type(at, "a list");
  into.clear();
  for (const boost::json::value& element : value.get_array()) {
    T item{};
    if (Status status = read(element, item, unknown, at + "/" + std::to_string(into.size())); !status.ok())
      return status;
    into.push_back(std::move(item));
  }
  return {};
}

template <typename T>
Status read_map(const boost::json::value& value, std::map<std::string, T>& into, Unknown unknown,
                const std::string& at) {
  if (!value.is_object()) return wrong_type(at, "an object");
  into.clear();
  for (const auto& [key, element] : value.get_object()) {
    T item{};
    if (Status status = read(element, item, unknown, pointer_to(at, key)); !status.ok()) return status;
    into.emplace(key, std::move(item));
  }
  return {};
}

template <typename T>
Status read(const boost::json::value& value, T& into, Unknown unknown, const std::string& at) {
  if constexpr (is_optional<T>) {
    if (value.is_null()) {
      into.reset();
      return {};
    }
    return read(value, into.emplace(), unknown, at);
  } else if constexpr (std::is_same_v<T, bool>) {
    if (!value.is_bool()) return wrong_type(at, "true or false");
    into = value.get_bool();
  } else if constexpr (std::is_integral_v<T>) {
    return read_integer(value, into, at);
  } else if constexpr (std::is_floating_point_v<T>) {
    if (!value.is_number()) return wrong_type(at, "a number");
    into = value.to_number<double>();
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (!value.is_string()) return wrong_type(at, "a text");
    into = std::string(std::string_view(value.get_string()));
  } else if constexpr (std::is_same_v<T, std::variant<std::string, std::vector<std::string>>>) {
    if (value.is_string()) return read(value, into.template emplace<std::string>(), unknown, at);
    if (!value.is_array()) return wrong_type(at, "a text or a list of texts");
    return read(value, into.template emplace<std::vector<std::string>>(), unknown, at);
  } else if constexpr (std::is_same_v<T, boost::json::value>) {
    into = value;
  } else if constexpr (is_vector<T>) {
    return read_elements(value, into, unknown, at);
  } else if constexpr (is_map<T>) {
    return read_map(value, into, unknown, at);
  } else {
    return read_struct(value, into, unknown, at);
  }
  return {};
}

}  // namespace detail

template <typename T>
Result<T> from_value(const boost::json::value& value, Unknown unknown = Unknown::reject) {
  T result{};
  if (Status status = detail::read(value, result, unknown, ""); !status.ok()) return status.error();
  return result;
}

template <typename T>
Result<T> read_json(std::string_view text, Unknown unknown = Unknown::reject) {
  Result<boost::json::value> value = parse_json(text);
  if (!value.ok()) return value.error();
  return from_value<T>(*value, unknown);
}

template <typename T>
boost::json::value to_value(const T& from) {
  if constexpr (detail::is_optional<T>) {
    return from ? to_value(*from) : boost::json::value(nullptr);
  } else if constexpr (std::is_same_v<T, bool>) {
    return from;
  } else if constexpr (std::is_floating_point_v<T>) {
    return std::isfinite(from) ? boost::json::value(from) : boost::json::value(nullptr);  // JSON has no infinity or NaN
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<std::int64_t>(from);
  } else if constexpr (std::is_same_v<T, std::string>) {
    return boost::json::string(from);
  } else if constexpr (std::is_same_v<T, std::variant<std::string, std::vector<std::string>>>) {
    return std::visit([](const auto& held) { return to_value(held); }, from);
  } else if constexpr (std::is_same_v<T, boost::json::value>) {
    return from;
  } else if constexpr (detail::is_vector<T>) {
    boost::json::array array;
    array.reserve(from.size());
    for (const auto& element : from) array.push_back(to_value(element));
    return array;
  } else if constexpr (detail::is_map<T>) {
    boost::json::object object;
    for (const auto& [key, element] : from) object[key] = to_value(element);
    return object;
  } else {
    boost::json::object object;
    boost::mp11::mp_for_each<detail::Members<T>>(
        [&](auto member) { object[detail::key_of(member.name)] = to_value(from.*member.pointer); });
    return object;
  }
}

template <typename T>
std::string write_json(const T& from) {
  return boost::json::serialize(to_value(from));
}

}  // namespace sl::wire
