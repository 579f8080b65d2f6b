#include "controller/output_clock.h"

#include <algorithm>

#include "wire/job_spec.h"

namespace sl::controller {

void OutputClock::add(const std::vector<wire::OutputTime>& times, std::int64_t offset) {
  std::erase_if(times_, [&](const wire::OutputTime& known) { return known.offset <= offset; });
  for (const wire::OutputTime& time : times) {
    if (times_.empty() || time.offset > times_.back().offset) times_.push_back(time);
  }
}

std::optional<std::string> OutputClock::at(std::int64_t offset) const {
  const auto after = std::ranges::upper_bound(times_, offset, {}, &wire::OutputTime::offset);
  return after == times_.end() ? std::nullopt : std::optional(wire::time_text(after->us));
}

std::string OutputClock::stamped(std::string_view text, std::int64_t offset, bool& begins_line) const {
  std::string stamped;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    if (begins_line) stamped += at(offset + static_cast<std::int64_t>(begin)).value_or("-") + " ";
    stamped += text.substr(begin, end - begin);
    begins_line = text[end - 1] == '\n';
    begin = end;
  }
  return stamped;
}

}  // namespace sl::controller
