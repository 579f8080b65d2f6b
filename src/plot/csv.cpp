#include "plot/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "base/suggest.h"
#include "plot/text.h"

namespace sl::plot {

Result<std::string> read_file(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return not_found("no-such-file", "there is no file " + path);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (!file || std::filesystem::is_directory(path, ignored)) return denied("cannot-read", "cannot read " + path);
  std::string text;
  char piece[1 << 16];
  for (std::size_t got; (got = std::fread(piece, 1, sizeof piece, file.get())) > 0;) text.append(piece, got);
  if (std::ferror(file.get()) != 0) return unavailable("cannot-read", "could not read all of " + path);
  return text;
}

Result<CsvReader> CsvReader::open_file(const std::string& path) {
  Result<std::string> text = read_file(path);
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
