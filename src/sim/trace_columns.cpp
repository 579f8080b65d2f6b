#include "sim/trace_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace sl::sim {
namespace {

struct Name {
  std::string_view text;
  Column column;
};
// The first name of a column is the one we write.
constexpr Name names[] = {{"job_id", Column::id},           {"submit_time_s", Column::submit},
                          {"submit_s", Column::submit},     {"gpus", Column::gpus},
                          {"duration_s", Column::duration}, {"run_s", Column::duration},
                          {"user", Column::user},           {"est_duration_s", Column::estimate},
                          {"estimate_s", Column::estimate}, {"deadline_s", Column::deadline},
                          {"priority", Column::priority},   {"gpus_min", Column::gpus_min},
                          {"gpus_max", Column::gpus_max},   {"gpu_share", Column::gpu_share},
                          {"gpu_type", Column::gpu_type},   {"cpus", Column::cpus},
                          {"mem_mib", Column::memory_mib},  {"memory_bytes", Column::memory_bytes},
                          {"vc", Column::virtual_cluster},  {"model", Column::family},
                          {"status", Column::status},       {"profile", Column::profile}};

bool is_detail(Column column) { return column > Column::user; }

}  // namespace

void split_fields(std::string_view line, Fields& fields) {
  fields.clear();
  for (std::size_t at = 0; fields.size() <= columns_max;) {
    const std::size_t comma = std::min(line.find(',', at), line.size());
    fields.push_back(line.substr(at, comma - at));
    if (comma == line.size()) return;
    at = comma + 1;
  }
}

Result<Columns> Columns::of_header(std::string_view line) {
  if (line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);  // what some editors put before UTF-8
  Fields header;
  split_fields(line, header);
  if (header.size() > columns_max) return invalid("trace-columns", "the header has more than 1000 columns");
  Columns columns;
  columns.at_.fill(-1);
  columns.count_ = header.size();
  for (std::size_t i = 0; i < header.size(); ++i) {
    const auto known =
        std::find_if(std::begin(names), std::end(names), [&](const Name& n) { return n.text == header[i]; });
    if (known == std::end(names)) continue;
    int& at = columns.at_[static_cast<std::size_t>(known->column)];
    if (at >= 0) return invalid("trace-columns", fmt::format("the trace has two columns for {}", name(known->column)));
    at = static_cast<int>(i);
    columns.any_details_ = columns.any_details_ || is_detail(known->column);
  }
  for (const Column needed : {Column::id, Column::submit, Column::gpus, Column::duration}) {
    if (!columns.has(needed))
      return invalid("trace-columns", fmt::format("the trace has no column {}", name(needed)))
          .note("its header is: " + std::string(line.substr(0, 200)))
          .hint("schedulearn trace import reads the formats of Philly, Helios, PAI and SWF");
  }
  return columns;
}

std::string_view Columns::name(Column column) {
  return std::find_if(std::begin(names), std::end(names), [&](const Name& n) { return n.column == column; })->text;
}

}  // namespace sl::sim
