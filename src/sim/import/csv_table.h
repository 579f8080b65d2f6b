// A CSV file of a known format, row by row: the columns by name, each row as wide as the header.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/trace_columns.h"

namespace sl::sim {

// Calls `take` with the wanted columns' fields, in their order, of every row that is not empty. Without `header` the
// first row must have exactly the wanted columns; it is skipped if it names them. Error "import-format" with the line.
Status read_table(std::string_view text, const std::vector<std::string_view>& wanted, bool header,
                  const std::function<void(const Fields&)>& take);

}  // namespace sl::sim
