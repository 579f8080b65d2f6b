// The columns of a trace that mean something to us (docs/formats/trace.md), and where a file's header puts them.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sl::sim {

enum class Column : std::uint8_t {
  id,
  submit,
  gpus,
  duration,
  user,
  estimate,
  deadline,
  priority,
  gpus_min,
  gpus_max,
  gpu_share,
  gpu_type,
  cpus,
  memory_mib,
  memory_bytes,
  virtual_cluster,
  family,
  status,
  profile
};
inline constexpr std::size_t column_count = 19;
inline constexpr std::size_t columns_max = 1'000;  // a file may have

using Fields = std::vector<std::string_view>;
// At commas; stops beyond columns_max. Quotes are not part of the schema.
void split_fields(std::string_view line, Fields& fields);

class Columns {
 public:
  // Error "trace-columns": one of the four that are needed is missing, or one is there twice.
  static Result<Columns> of_header(std::string_view line);
  std::size_t count() const { return count_; }
  bool has(Column column) const { return at_[static_cast<std::size_t>(column)] >= 0; }
  // Empty when the file has no such column.
  std::string_view of(const Fields& fields, Column column) const {
    const int at = at_[static_cast<std::size_t>(column)];
    return at < 0 ? std::string_view() : fields[static_cast<std::size_t>(at)];
  }
  bool any_details() const { return any_details_; }

  static std::string_view name(Column column);

 private:
  std::array<int, column_count> at_;
  std::size_t count_ = 0;
  bool any_details_ = false;
};

}  // namespace sl::sim
