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

Result<CsvReader> CsvReader::open(std::string path, std::string text) {
  CsvReader reader;
  reader.path_ = std::move(path);
  reader.text_ = std::move(text);
  if (reader.text_.starts_with("\xEF\xBB\xBF")) reader.at_ = 3;
  if (reader.at_ >= reader.text_.size()) return invalid("empty-file", reader.path_ + " is empty");
  reader.split_line();
  reader.columns_ = reader.fields_;
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

void CsvReader::split_line() {
  ++line_;
  fields_.assign(1, "");
  bool quoted = false;
  for (; at_ < text_.size(); ++at_) {
    const char c = text_[at_];
    if (quoted) {
      if (c != '"') {
        fields_.back() += c;
      } else if (at_ + 1 < text_.size() && text_[at_ + 1] == '"') {
        fields_.back() += '"', ++at_;
      } else {
        quoted = false;
      }
    } else if (c == '"' && fields_.back().empty()) {
      quoted = true;
    } else if (c == ',') {
      fields_.emplace_back();
    } else if (c == '\n') {
      ++at_;
      break;
    } else if (c != '\r') {
      fields_.back() += c;
    }
  }
}

Result<bool> CsvReader::next() {
  if (at_ >= text_.size()) return false;
  split_line();
  if (fields_.size() == columns_.size()) return true;
  if (fields_.size() == 1 && fields_.front().empty()) return next();
  return bad_row("bad-row", fmt::format("{} fields where the header has {}", fields_.size(), columns_.size()));
}

Result<std::optional<double>> CsvReader::number(std::size_t column) const {
  const std::string& text = fields_[column];
  if (text.empty()) return std::optional<double>();
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    return bad_row("bad-number", fmt::format("{} is not a number: {}", columns_[column], shortened(text, 1, 40)));
  return std::optional<double>(value);
}

Error CsvReader::bad_row(std::string code, std::string message) const {
  return invalid(std::move(code), path_ + ": " + std::move(message)).at(fmt::format("line {}", line_));
}

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\n\r") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace sl::plot
