// Comma-separated files with a header line, as our commands write them. Columns are found by name, in any order.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/csv.h"
#include "base/result.h"

namespace sl::plot {

class CsvReader {
 public:
  // Keeps `text`. Error "empty-file" if it has no header line.
  static Result<CsvReader> open(std::string path, std::string text);
  static Result<CsvReader> open_file(const std::string& path);  // also errors of wire/read_file.h

  std::optional<std::size_t> find_column(std::string_view name) const;
  // Error "missing-column", listing the columns of the file.
  Result<std::size_t> column(std::string_view name) const;
  // False at the end. Error "bad-row" with the line if its number of fields is not that of the header.
  Result<bool> next();
  std::string_view field(std::size_t column) const { return rows_.fields()[column]; }
  // Nothing if the field is empty. Error "bad-number" with the line.
  Result<std::optional<double>> number(std::size_t column) const;
  // An error about the current row.
  Error bad_row(std::string code, std::string message) const;

 private:
  CsvReader(std::string path, std::string text);
  std::string path_;
  std::unique_ptr<const std::string> text_;  // stays in place when this object moves
  CsvRows rows_;
  std::vector<std::string> columns_;
};

}  // namespace sl::plot
