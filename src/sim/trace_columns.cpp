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
constexpr Name names[] = {{"job_id", Column::id},
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
                          {"qos", Column::qos},
                          {"iterations", Column::iterations},
                          {"orig_start_s", Column::original_start}};

// Where the field at `at` ends, when it begins with a quote: at the comma behind the second quote. npos: none there.
std::size_t end_of_quoted(std::string_view line, std::size_t at) {
  const std::size_t quote = line.find('"', at + 1);
  if (quote == std::string_view::npos) return quote;
  return quote + 1 == line.size() || line[quote + 1] == ',' ? quote + 1 : std::string_view::npos;
}

bool split_quoted(std::string_view line, Fields& fields) {
  for (std::size_t at = 0; fields.size() <= columns_max;) {
    const bool quoted = at < line.size() && line[at] == '"';
    const std::size_t end = quoted ? end_of_quoted(line, at) : std::min(line.find(',', at), line.size());
    if (end == std::string_view::npos) return false;
    const std::string_view field = quoted ? line.substr(at + 1, end - at - 2) : line.substr(at, end - at);
    if (field.find('"') != std::string_view::npos) return false;
    fields.push_back(field);
    if (end == line.size()) return true;
    at = end + 1;
  }
  return true;
}

}  // namespace

bool split_fields(std::string_view line, Fields& fields) {
  fields.clear();
  const char *begin = line.data(), *end = begin + line.size(), *field = begin;
  for (const char* c = begin; c != end; ++c) {  // faster than memchr: fields are short
    if (*c == '"') return fields.clear(), split_quoted(line, fields);
    if (*c != ',') continue;
    fields.emplace_back(field, static_cast<std::size_t>(c - field));
    if (fields.size() > columns_max) return true;
    field = c + 1;
  }
  fields.emplace_back(field, static_cast<std::size_t>(end - field));
  return true;
}

std::string_view take_line(std::string_view text, std::size_t& at) {
  const std::size_t end = std::min(text.find('\n', at), text.size());
  std::string_view line = text.substr(at, end - at);
  at = end + 1;
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

std::string shown(std::string_view text, std::size_t length_max) {
  std::string safe(text.substr(0, length_max));
  for (char& c : safe) {
    if (static_cast<unsigned char>(c) < ' ' || static_cast<unsigned char>(c) >= 127) c = '?';
  }
  return text.size() > length_max ? safe + "..." : safe;
}

Result<Columns> Columns::of_header(std::string_view line) {
  if (line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);  // what some editors put before UTF-8
  Fields header;
  if (!split_fields(line, header)) return invalid("trace-columns", "the header has a quote without its partner");
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
          .note("its header is: " + shown(line, 200))
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
  return std::find_if(std::begin(names), std::end(names), [&](const Name& n) { return n.column == column; })->text;
}

}  // namespace sl::sim
