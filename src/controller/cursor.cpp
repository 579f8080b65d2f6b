#include "controller/cursor.h"

#include "base/whole_number.h"

namespace sl::controller {
namespace {

constexpr std::string_view prefix = "/api/v1/";

// "/api/v1/jobs/5/events" is "jobs.5.events".
std::string name_of(std::string_view list) {
  std::string name(list.starts_with(prefix) ? list.substr(prefix.size()) : list);
  for (char& c : name) c = c == '/' ? '.' : c;
  return name.substr(name.starts_with('.') ? 1 : 0);
}

}  // namespace

std::string cursor_text(std::string_view list, std::int64_t position) {
  return name_of(list) + ":" + std::to_string(position);
}

Result<std::int64_t> parse_cursor(std::string_view list, std::string_view text) {
  const std::size_t colon = text.rfind(':');
  const auto position = colon == std::string_view::npos ? std::nullopt : parse_whole_number(text.substr(colon + 1));
  if (!position || *position < 0)
    return invalid("bad-cursor", "'" + std::string(text) + "' is no cursor")
        .hint("cursor is the next_cursor of the previous page; leave it out for the first page");
  if (const std::string_view issuer = text.substr(0, colon); issuer != name_of(list))
    return invalid("bad-cursor", "this cursor belongs to another list, " + std::string(issuer))
        .note("a list in another order takes other cursors")
        .hint("cursor is the next_cursor of the previous page; leave it out for the first page");
  return *position;
}

}  // namespace sl::controller
