#include "wire/json_text.h"

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <charconv>
#include <cmath>

namespace sl::wire {

namespace json = boost::json;

namespace {

void append_string(std::string& text, std::string_view string) {
  const bool is_plain = std::none_of(string.begin(), string.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\' || c == 0x7F;
  });
  if (!is_plain) {
    text += json::serialize(json::value(string));
    return;
  }
  text += '"';
  text += string;
  text += '"';
}

void append(std::string& text, const json::value& value) {
  if (const json::object* const object = value.if_object()) {
    text += '{';
    for (auto member = object->begin(); member != object->end(); ++member) {
      if (member != object->begin()) text += ',';
      append_string(text, member->key());
      text += ':';
      append(text, member->value());
    }
    text += '}';
  } else if (const json::array* const array = value.if_array()) {
    text += '[';
    for (const json::value& element : *array) {
      if (&element != array->begin()) text += ',';
      append(text, element);
    }
    text += ']';
  } else if (const json::string* const string = value.if_string()) {
    append_string(text, *string);
  } else if (const double* const number = value.if_double()) {
    text += number_text(*number);
  } else {
    text += json::serialize(value);
  }
}

}  // namespace

std::string number_text(double number) {
  if (!std::isfinite(number)) return "null";
  char digits[32];
  const auto format = number != 0 && (std::abs(number) < 1e-6 || std::abs(number) >= 1e15) ? std::chars_format::general
                                                                                           : std::chars_format::fixed;
  return {digits, std::to_chars(digits, digits + sizeof digits, number, format).ptr};
}

std::string json_text(const json::value& value) {
  std::string text;
  append(text, value);
  return text;
}

}  // namespace sl::wire
