// Comma-separated files with a header line, as our commands write them: columns are found by name, in any order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sl::plot {

// The whole file. Error "no-such-file" or "cannot-read".
Result<std::string> read_file(const std::string& path);

class CsvReader {
 public:
  // Keeps `text`. Error "empty-file" without a header line.
  static Result<CsvReader> open(std::string path, std::string text);
  static Result<CsvReader> open_file(const std::string& path);

  std::optional<std::size_t> find_column(std::string_view name) const;
  // Error "missing-column", naming those there are.
  Result<std::size_t> column(std::string_view name) const;
  // False at the end. Error "bad-row" with the line where the number of fields is not that of the header.
  Result<bool> next();
  std::string_view field(std::size_t column) const { return fields_[column]; }
  // Empty: the field is. Error "bad-number" with the line.
  Result<std::optional<double>> number(std::size_t column) const;
  // An error about the present row.
  Error bad_row(std::string code, std::string message) const;

 private:
  void split_line();
  std::string path_, text_;
  std::size_t at_ = 0;
  std::int64_t line_ = 0;
  std::vector<std::string> columns_, fields_;
};

// A field as it is written: in quotes where it must be.
std::string csv_field(std::string_view text);

}  // namespace sl::plot
