#include "sim/workloads/trace_builder.h"

#include <algorithm>
#include <charconv>

namespace sl::sim {

std::uint32_t TraceBuilder::add_user(std::string name) {
  trace_.users.push_back(std::move(name));
  return static_cast<std::uint32_t>(trace_.users.size() - 1);
}

std::uint32_t TraceBuilder::add_details(TraceDetails details) {
  trace_.details.push_back(std::move(details));
  return static_cast<std::uint32_t>(trace_.details.size() - 1);
}

Trace TraceBuilder::finish() {
  const auto earlier = [](const TraceJob& a, const TraceJob& b) { return a.submitted < b.submitted; };
  if (!std::is_sorted(trace_.jobs.begin(), trace_.jobs.end(), earlier))
    std::stable_sort(trace_.jobs.begin(), trace_.jobs.end(), earlier);
  number();
  trace_.report.rows = static_cast<std::int64_t>(trace_.jobs.size());
  return std::move(trace_);
}

void TraceBuilder::number() {
  const std::size_t digits = std::to_string(trace_.jobs.size()).size();
  auto text = std::make_shared<std::string>(trace_.jobs.size() * digits, '\0');
  char* at = text->data();
  for (std::size_t i = 0; i < trace_.jobs.size(); ++i) {
    char* end = std::to_chars(at, at + digits, i + 1).ptr;
    trace_.jobs[i].id_text = at;
    trace_.jobs[i].id_size = static_cast<std::uint32_t>(end - at);
    at = end;
  }
  trace_.text = std::move(text);
}

}  // namespace sl::sim
