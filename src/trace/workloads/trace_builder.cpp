#include "trace/workloads/trace_builder.h"

#include <algorithm>

namespace sl::trace {
namespace {

// Adds 1, in decimal digits.
void count_on(std::string& number) {
  auto digit = number.rbegin();
  while (digit != number.rend() && *digit == '9') *digit++ = '0';
  digit == number.rend() ? void(number.insert(0, 1, '1')) : void(++*digit);
}

}  // namespace

Error too_late() {
  return invalid("bad-parameter", "its last jobs would be submitted after three thousand years")
      .hint("fewer jobs, or more of them at a time: jobs, load, rate_per_hour, interval_s");
}

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
  std::string number = "0";
  for (TraceJob& job : trace_.jobs) {
    count_on(number);
    job.id_text = at;
    job.id_size = static_cast<std::uint32_t>(number.size());
    at = std::copy(number.begin(), number.end(), at);
  }
  trace_.source = std::move(text);
}

}  // namespace sl::trace
