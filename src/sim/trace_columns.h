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
  profile,
  disk_mib,
  network_mbit_s,
  qos,  // this and the next two mean nothing to a simulation
  iterations,
  original_start
};
inline constexpr std::size_t column_count = 24;
constexpr bool is_detail(Column column) { return column > Column::user; }
constexpr bool is_for_simulation(Column column) { return column < Column::qos; }
inline constexpr std::size_t columns_max = 1'000;  // a file may have

using Fields = std::vector<std::string_view>;
// At commas; stops beyond columns_max. Quotes around a field are taken off, and commas between them do not split.
// False: a quote inside a field or without its partner.
[[nodiscard]] bool split_fields(std::string_view line, Fields& fields);
// The line at `at`, without its end, which may be CR LF; moves `at` behind it.
std::string_view take_line(std::string_view text, std::size_t& at);
// For a message: at most so much of it, on one line, without control characters.
std::string shown(std::string_view text, std::size_t length_max = 60);

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
  // Forgets the columns no simulation uses.
  void keep_for_simulation();

  static std::string_view name(Column column);

 private:
  std::array<int, column_count> at_;
  std::size_t count_ = 0;
  bool any_details_ = false;
};

}  // namespace sl::sim
