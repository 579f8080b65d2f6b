#include "net/http.h"

#include <algorithm>
#include <cctype>

namespace sl::net {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string percent_decode(std::string_view text, bool plus_is_space) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 && hex_digit(text[i + 2]) >= 0) {
      result.push_back(static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2])));
      i += 2;
    } else {
      result.push_back(plus_is_space && text[i] == '+' ? ' ' : text[i]);
    }
  }
  return result;
}

std::string percent_encode(std::string_view text) {
  constexpr char digits[] = "0123456789ABCDEF";
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '-' || c == '_' || c == '.' || c == '~') {
      result.push_back(c);
    } else {
      result += {'%', digits[byte >> 4], digits[byte & 15]};
    }
  }
  return result;
}

void parse_target(std::string_view target, Request& request) {
  request.target = target;
  const std::size_t mark = target.find('?');
  request.path = percent_decode(target.substr(0, mark), false);
  if (mark == std::string_view::npos) return;
  std::string_view rest = target.substr(mark + 1);
  while (!rest.empty()) {
    const std::string_view pair = rest.substr(0, rest.find('&'));
    const std::size_t equals = pair.find('=');
    const std::string_view value = equals == std::string_view::npos ? std::string_view() : pair.substr(equals + 1);
    if (!pair.empty())
      request.query.emplace_back(percent_decode(pair.substr(0, equals), true), percent_decode(value, true));
    rest.remove_prefix(std::min(pair.size() + 1, rest.size()));
  }
}

const char* what_is_ambiguous(const Request& head) {
  const auto count = [&](std::string_view name) {
    return std::ranges::count(head.headers, name, &Headers::value_type::first);
  };
  std::string coding = head.header("transfer-encoding").value_or("chunked");
  for (char& c : coding) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (coding != "chunked" || count("transfer-encoding") > 1)
    return "a body may be chunked, and encoded in no other way";
  if (count("transfer-encoding") + count("content-length") > 1) return "a body has one length, or is chunked";
  return count("host") > 1 ? "there are several Host headers" : nullptr;
}

bool Request::has_media_type(std::string_view lower_case_type) const {
  std::string type = header("content-type").value_or("");
  type.resize(std::min(type.find(';'), type.size()));
  while (type.ends_with(' ') || type.ends_with('\t')) type.pop_back();
  return std::ranges::equal(type, lower_case_type,
                            [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; });
}

std::optional<std::string> Request::header(std::string_view lower_case_name) const {
  for (const auto& [name, value] : headers) {
    if (name == lower_case_name) return value;
  }
  return std::nullopt;
}

std::optional<std::string> Request::parameter(std::string_view name) const {
  for (const auto& [key, value] : query) {
    if (key == name) return value;
  }
  return std::nullopt;
}

}  // namespace sl::net
