#include "trace/columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace sl::trace {
namespace {

struct Name {
  std::string_view text;
  Column column;
};
// The first name of a column is the one we write.
constexpr Name column_names[] = {{"job_id", Column::id},
                                 {"submit_time_s", Column::submit},
                                 {"submit_s", Column::submit},
                                 {"gpus", Column::gpus},
                                 {"duration_s", Column::duration},
                                 {"run_s", Column::duration},
                                 {"user", Column::user},
                                 {"est_duration_s", Column::estimate},
                                 {"estimate_s", Column::estimate},
                                 {"deadline_s", Column::deadline},
                                 {"priority", Column::priority},
                                 {"gpus_min", Column::gpus_min},
                                 {"gpus_max", Column::gpus_max},
                                 {"gpu_share", Column::gpu_share},
                                 {"gpu_type", Column::gpu_type},
                                 {"cpus", Column::cpus},
                                 {"mem_mib", Column::memory_mib},
                                 {"memory_bytes", Column::memory_bytes},
                                 {"vc", Column::virtual_cluster},
                                 {"model", Column::family},
                                 {"status", Column::status},
                                 {"profile", Column::profile},
                                 {"disk_mib", Column::disk_mib},
                                 {"net_mbit_s", Column::network_mbit_s},
                                 {"epochs", Column::epochs},
                                 {"batch_size", Column::batch_size},
                                 {"target_loss", Column::target_loss},
                                 {"budget", Column::budget},
                                 {"model_bytes", Column::model_bytes},
                                 {"largest_tensor_bytes", Column::largest_tensor_bytes},
                                 {"gpus_allowed", Column::gpus_allowed},
                                 {"roles", Column::roles},
                                 {"array", Column::array},
                                 {"max_running", Column::max_running},
                                 {"after", Column::after},
                                 {"on", Column::on},
                                 {"not_on", Column::not_on},
                                 {"qos", Column::qos},
                                 {"iterations", Column::iterations},
                                 {"orig_start_s", Column::original_start}};

}  // namespace

std::string shown(std::string_view text, std::size_t length_max) {
  std::string safe(text.substr(0, length_max));
  for (char& c : safe) {
    if (static_cast<unsigned char>(c) < ' ' || static_cast<unsigned char>(c) >= 127) c = '?';
  }
  return text.size() > length_max ? safe + "..." : safe;
}

Result<Columns> Columns::of_header(const CsvRows& rows) {
  const Fields& header = rows.fields();
  if (rows.is_malformed()) return invalid("trace-columns", "the header has an unclosed quote");
  if (header.size() > csv_fields_max) return invalid("trace-columns", "the header has more than 1000 columns");
  Columns columns;
  columns.at_.fill(-1);
  columns.count_ = header.size();
  for (std::size_t i = 0; i < header.size(); ++i) {
    const auto known = std::ranges::find_if(column_names, [&](const Name& n) { return n.text == header[i]; });
    if (known == std::end(column_names)) continue;
    int& at = columns.at_[static_cast<std::size_t>(known->column)];
    if (at >= 0) return invalid("trace-columns", fmt::format("the trace has two columns for {}", name(known->column)));
    at = static_cast<int>(i);
    columns.any_details_ = columns.any_details_ || is_detail(known->column);
  }
  if (columns.has(Column::memory_mib) && columns.has(Column::memory_bytes))
    return invalid("trace-columns", "the trace has two columns for memory: mem_mib and memory_bytes");
  for (const Column needed : {Column::id, Column::submit, Column::gpus, Column::duration}) {
    if (!columns.has(needed))
      return invalid("trace-columns", fmt::format("the trace has no column {}", name(needed)))
          .note(rows.raw().empty() ? "it is empty" : "its header is: " + shown(rows.raw(), 200))
          .hint("schedulearn trace import reads the formats of Philly, Helios, PAI and SWF");
  }
  return columns;
}

void Columns::keep_for_simulation() {
  any_details_ = false;
  for (std::size_t c = 0; c < column_count; ++c) {
    const auto column = static_cast<Column>(c);
    if (!is_for_simulation(column)) at_[c] = -1;
    any_details_ = any_details_ || (at_[c] >= 0 && is_detail(column));
  }
}

std::string_view Columns::name(Column column) {
  return std::ranges::find_if(column_names, [&](const Name& n) { return n.column == column; })->text;
}

}  // namespace sl::trace
