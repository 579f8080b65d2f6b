#include "plot/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>

#include "base/suggest.h"
#include "plot/text.h"
#include "wire/read_file.h"

namespace sl::plot {

Result<CsvReader> CsvReader::open_file(const std::string& path) {
  Result<std::string> text = wire::read_file(path, wire::table_bytes_max);
  if (!text.ok()) return text.error();
  return open(path, std::move(*text));
}

CsvReader::CsvReader(std::string path, std::string text)
    : path_(std::move(path)), text_(std::make_unique<const std::string>(std::move(text))), rows_(*text_) {}

Result<CsvReader> CsvReader::open(std::string path, std::string text) {
  CsvReader reader(std::move(path), std::move(text));
  if (!reader.rows_.next()) return invalid("empty-file", reader.path_ + " is empty");
  reader.columns_.assign(reader.rows_.fields().begin(), reader.rows_.fields().end());
  return reader;
}

std::optional<std::size_t> CsvReader::find_column(std::string_view name) const {
  const auto found = std::find(columns_.begin(), columns_.end(), name);
  if (found == columns_.end()) return {};
  return static_cast<std::size_t>(found - columns_.begin());
}

Result<std::size_t> CsvReader::column(std::string_view name) const {
  if (const auto found = find_column(name)) return *found;
  return invalid("missing-column", fmt::format("{} has no column {}", path_, name))
      .note("its columns are " + shortened(joined(columns_, ", "), 1, 120));
}

Result<bool> CsvReader::next() {
  if (!rows_.next()) return false;
  if (rows_.is_malformed()) return bad_row("bad-row", "a quote inside an unquoted field, or an unclosed quote");
  const std::size_t count = rows_.fields().size();
  if (count == columns_.size()) return true;
  return bad_row("bad-row", fmt::format("{} fields where the header has {}", count, columns_.size()));
}

Result<std::optional<double>> CsvReader::number(std::size_t column) const {
  const std::string text(field(column));
  if (text.empty()) return std::optional<double>();
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    return bad_row("bad-number", fmt::format("{} is not a number: {}", columns_[column], shortened(text, 1, 40)));
  return std::optional<double>(value);
}

Error CsvReader::bad_row(std::string code, std::string message) const {
  return invalid(std::move(code), path_ + ": " + std::move(message)).at(fmt::format("line {}", rows_.line()));
}

}  // namespace sl::plot
