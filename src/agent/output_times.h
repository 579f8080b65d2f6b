// When the output of an attempt was written, to within the interval at which the agent looks at it. Programs write to the
// file themselves, so the agent notes in its folder, in the file `output_times`, how long the output was at its latest
// change: "OFFSET MICROSECONDS", one per line, the first of which is the start. The notes get rarer as the attempt gets
// older, so a month takes about a megabyte. An attempt that has written nothing has none.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/time.h"
#include "wire/agent_protocol.h"

namespace sl::agent {

class OutputTimes {
 public:
  // Takes a note of an attempt that began at `started` if its output has grown and one is due; `at_end`: if it has grown.
  // Continues the notes of another agent process.
  void note(const std::string& key, const std::string& attempt_dir, Instant started, Instant now, bool at_end);
  template <typename IsGone>
  void forget(IsGone is_gone) {
    std::erase_if(known_, is_gone);
  }

 private:
  struct Known {
    std::int64_t size = 0;
    Instant begun, noted;
  };
  std::map<std::string, Known> known_;  // by the attempt's key
};

// What is known of the bytes [from, to), as in wire::LogChunk; what has been written since the last note is newer than it,
// and no newer than the file.
std::vector<wire::OutputTime> read_output_times(const std::string& attempt_dir, std::int64_t from, std::int64_t to);

}  // namespace sl::agent
