// Requests that came with a wrong secret. Each makes the next answer to the same sender a little later, never that to
// others, and never that to a right secret; and some become events, few enough that nobody can fill the disk with them.
// Belongs to the loop's thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/time.h"

namespace sl::controller {

class SignInFailures {
 public:
  struct Consequence {
    Duration delay;                // until the refusal is sent
    std::optional<int> to_record;  // how many there were from this sender within the hour, if an event shall say so
  };
  // `sender`: an address, or a user of this machine.
  Consequence failed(const std::string& sender, Instant now);

 private:
  struct Sender {
    Instant since, last;
    int failures = 0;  // since `since`
    int in_a_row = 0;  // without a quiet minute
  };
  std::map<std::string, Sender> senders_;
  Instant hour_;      // in which
  int recorded_ = 0;  // so many events were made
};

}  // namespace sl::controller
