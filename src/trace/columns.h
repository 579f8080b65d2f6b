// The columns of a trace that we know (docs/formats/trace.md), and where a file's header has them.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "base/csv.h"
#include "base/result.h"

namespace sl::trace {

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
  profile,
  disk_mib,
  network_mbit_s,
  epochs,
  batch_size,
  target_loss,
  budget,
  model_bytes,
  largest_tensor_bytes,
  gpus_allowed,
  roles,
  array,
  max_running,
  after,
  on,
  not_on,
  qos,  // simulations use neither this nor the next two
  iterations,
  original_start
};
inline constexpr std::size_t column_count = 37;
constexpr bool is_detail(Column column) { return column > Column::user; }
constexpr bool is_for_simulation(Column column) { return column < Column::qos; }

// Text for a message: on one line, without control characters, cut after `length_max` characters.
std::string shown(std::string_view text, std::size_t length_max = 60);

class Columns {
 public:
  // Reads the row that `rows` is at. Error "trace-columns": one of the four required columns is missing, or a column
  // appears twice.
  static Result<Columns> of_header(const CsvRows& rows);
  std::size_t count() const { return count_; }
  bool has(Column column) const { return at_[static_cast<std::size_t>(column)] >= 0; }
  // In which field of a row the column is; the file must have it.
  std::size_t position(Column column) const { return static_cast<std::size_t>(at_[static_cast<std::size_t>(column)]); }
  // Empty if the file has no such column.
  std::string_view of(const Fields& fields, Column column) const {
    const int at = at_[static_cast<std::size_t>(column)];
    return at < 0 ? std::string_view() : fields[static_cast<std::size_t>(at)];
  }
  bool any_details() const { return any_details_; }
  // Forgets the columns that no simulation uses.
  void keep_for_simulation();

  static std::string_view name(Column column);

 private:
  std::array<int, column_count> at_;
  std::size_t count_ = 0;
  bool any_details_ = false;
};

}  // namespace sl::trace
