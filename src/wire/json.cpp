#include "wire/json.h"

#include <algorithm>

#include "wire/source_line.h"

namespace sl::wire {
namespace {

Error malformed(std::string_view text, std::size_t offset, const std::string& why) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const auto line = 1 + static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
  const auto newline = before.rfind('\n');
  const auto column = before.size() - (newline == std::string_view::npos ? 0 : newline + 1) + 1;
  const std::string where = place_text({line, column});
  return with_source_line(invalid("malformed-json", "this is not JSON: " + why + " at " + where).at(where), text,
                          {line, column});
}

}  // namespace

Result<boost::json::value> parse_json(std::string_view text) {
  boost::json::error_code error;
  boost::json::stream_parser parser;
  std::size_t used = 0;
  try {
    used = parser.write_some(text.data(), text.size(), error);
    if (!error && used < text.size()) {
      const bool only_space = text.find_first_not_of(" \t\r\n", used) == std::string_view::npos;
      if (!only_space) return malformed(text, used, "there is more text after the document");
    }
    if (!error) parser.finish(error);
    if (!error) return parser.release();
  } catch (const std::exception& e) {
    return malformed(text, used, e.what());
  }
  return malformed(text, used, error.message());
}

namespace detail {

Error wrong_type(const std::string& pointer, std::string_view expected) {
  std::string_view rest = pointer;
  std::string key = "the document";  // else the last key, with the place in its list if it is one
  for (bool is_first = true; !rest.empty(); is_first = false) {
    const std::string next = take_key(rest);
    const bool is_place =
        !is_first && !next.empty() && std::ranges::all_of(next, [](char c) { return c >= '0' && c <= '9'; });
    key = is_place ? key + "[" + next + "]" : next;
  }
  return invalid("wrong-type", key + " must be " + std::string(expected)).at(pointer);
}

std::string pointer_to(const std::string& pointer, std::string_view key) {
  std::string result = pointer + "/";
  for (const char c : key) {
    if (c == '~' || c == '/') {
      result += c == '~' ? "~0" : "~1";
    } else {
      result += c;
    }
  }
  return result;
}

std::string take_key(std::string_view& pointer) {
  std::string key;
  std::size_t at = 1;
  for (; at < pointer.size() && pointer[at] != '/'; ++at) {
    const bool is_escape = pointer[at] == '~' && at + 1 < pointer.size();
    key += is_escape ? (pointer[++at] == '0' ? '~' : '/') : pointer[at];
  }
  pointer.remove_prefix(std::min(at, pointer.size()));
  return key;
}

Error unknown_key(const std::string& pointer, std::string_view key, const std::vector<std::string_view>& known) {
  Error error = invalid("unknown-key", "unknown key " + std::string(key)).at(pointer_to(pointer, key));
  if (const auto near = did_you_mean(key, known)) error.hints.push_back("did you mean " + *near + "?");
  return error;
}

}  // namespace detail

}  // namespace sl::wire
