#include "trace/import/csv_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace sl::trace {
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
  Fields chosen(wanted.size());
  std::vector<std::size_t> places(wanted.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::size_t columns = wanted.size();
  bool is_first = true;
  for (CsvRows rows(text); rows.next(); is_first = false) {
    const Fields& fields = rows.fields();
    if (rows.is_malformed()) return bad_line(rows.line(), "a quote inside an unquoted field, or an unclosed quote");
    if (is_first && header) {
      const auto found = find_columns(fields, wanted);
      if (!found.ok()) return found.error();
      places = *found;
      columns = fields.size();
      continue;
    }
    if (fields.size() != columns)
      return bad_line(rows.line(),
                      fmt::format("{} columns instead of {}", std::min(fields.size(), csv_fields_max + 1), columns));
    if (is_first && fields.front() == wanted.front()) continue;
    for (std::size_t i = 0; i < places.size(); ++i) chosen[i] = fields[places[i]];
    take(chosen);
  }
  return {};
}

}  // namespace sl::trace
