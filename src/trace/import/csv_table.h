// A CSV file of a known format, row by row: columns by name, each row as wide as the header.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "base/csv.h"
#include "base/result.h"

namespace sl::trace {

// Calls `take` for every row that is not empty, with the fields of the wanted columns in their order. Without `header`
// the rows must have exactly the wanted columns; a first row that names them is skipped. Error "import-format" with the
// line.
Status read_table(std::string_view text, const std::vector<std::string_view>& wanted, bool header,
                  const std::function<void(const Fields&)>& take);

}  // namespace sl::trace
