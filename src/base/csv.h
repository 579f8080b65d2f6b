// Comma-separated values: the one place that reads and writes them. One row per line, fields separated by commas. A
// field in double quotes may hold commas, line ends and doubled quotes. Pure text; made for files of millions of rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace sl {

using Fields = std::vector<std::string_view>;
inline constexpr std::size_t csv_fields_max = 1'000;  // per row

// The line at `at` without its end (LF or CR LF); moves `at` to the next line.
std::string_view take_line(std::string_view text, std::size_t& at);

// Usage: for (CsvRows rows(text); rows.next();) use(rows.fields());
class CsvRows {
 public:
  // The text must outlive this object and what fields() returned. A leading byte-order mark is skipped.
  explicit CsvRows(std::string_view text) : text_(text), at_(text.starts_with("\xEF\xBB\xBF") ? 3 : 0) {}

  // Moves to the next row that is not empty. False: there is none.
  bool next();
  // Fields of the current row; those beyond csv_fields_max + 1 are left out. They are views of the text, or, for fields
  // with quotes in them, of what take_unquoted() hands over.
  const Fields& fields() const { return fields_; }
  // A quote inside an unquoted field, or an opening quote that is never closed: fields() is empty then.
  bool is_malformed() const { return is_malformed_; }
  // The number of the line in which the current row begins, from 1.
  std::int64_t line() const { return line_; }
  // The first line of the current row as it stands in the text, for messages.
  std::string_view raw() const { return raw_; }
  // Where the next row begins.
  std::size_t position() const { return std::min(at_, text_.size()); }
  // The memory of fields that are not views of the text, for callers who keep them longer than this object.
  std::deque<std::string> take_unquoted() { return std::move(unquoted_); }

 private:
  void split_plain();
  bool split_quoted(std::size_t at);
  std::size_t read_unquoted(std::size_t begin);
  std::size_t read_quoted(std::size_t begin);

  std::string_view text_, raw_;
  std::size_t at_;
  std::int64_t line_ = 0, lines_ = 1;  // a row with quotes may span several lines
  Fields fields_;
  std::deque<std::string> unquoted_;
  bool is_malformed_ = false;
};

// Appends a field as it is written: in quotes if it needs them.
void append_csv_field(std::string& to, std::string_view field);
std::string csv_field(std::string_view field);
// Whether the field needs no quotes.
bool is_plain_csv_field(std::string_view field);

}  // namespace sl
