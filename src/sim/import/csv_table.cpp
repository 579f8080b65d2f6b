#include "sim/import/csv_table.h"

#include <fmt/format.h>

#include <algorithm>

namespace sl::sim {
namespace {

Error bad_line(std::int64_t line, const std::string& why) {
  return invalid("import-format", fmt::format("line {}: {}", line, why));
}

// Where each wanted column is.
Result<std::vector<std::size_t>> find_columns(const Fields& header, const std::vector<std::string_view>& wanted) {
  std::vector<std::size_t> at;
  for (const std::string_view name : wanted) {
    const auto found = std::find(header.begin(), header.end(), name);
    if (found == header.end()) return invalid("import-format", fmt::format("line 1: there is no column {}", name));
    at.push_back(static_cast<std::size_t>(found - header.begin()));
  }
  return at;
}

}  // namespace

Status read_table(std::string_view text, const std::vector<std::string_view>& wanted, bool header,
                  const std::function<void(const Fields&)>& take) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  Fields fields, chosen(wanted.size());
  std::size_t columns = wanted.size(), at = 0;
  std::vector<std::size_t> places(wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) places[i] = i;
  for (std::int64_t line = 1; at < text.size(); ++line) {
    const std::string_view row = take_line(text, at);
    if (row.empty()) continue;
    if (!split_fields(row, fields)) return bad_line(line, "a quote inside a field, or without its partner");
    if (line == 1 && header) {
      const auto found = find_columns(fields, wanted);
      if (!found.ok()) return found.error();
      places = *found;
      columns = fields.size();
      continue;
    }
    if (fields.size() != columns)
      return bad_line(line, fmt::format("{} columns instead of {}", std::min(fields.size(), columns_max + 1), columns));
    if (line == 1 && fields.front() == wanted.front()) continue;
    for (std::size_t i = 0; i < places.size(); ++i) chosen[i] = fields[places[i]];
    take(chosen);
  }
  return {};
}

}  // namespace sl::sim
