// When lines of an output were written, from the notes of the agent that keeps it (agent/output_times.h).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wire/agent_protocol.h"

namespace sl::controller {

class OutputClock {
 public:
  // What came with the next piece; nothing is asked any more about what lies before `offset`.
  void add(const std::vector<wire::OutputTime>& times, std::int64_t offset);
  void restart() { times_.clear(); }  // another output
  // By when the byte there had been written, as RFC 3339 in UTC; nothing: unknown.
  std::optional<std::string> at(std::int64_t offset) const;
  // The text with the time before each line that begins in it; "-" where it is unknown. `offset`: of its first byte;
  // `begins_line`: whether that begins one, afterwards whether the byte after it does.
  std::string stamped(std::string_view text, std::int64_t offset, bool& begins_line) const;

 private:
  std::vector<wire::OutputTime> times_;  // ascending
};

}  // namespace sl::controller
