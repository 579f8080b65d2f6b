// What simulations on the controller are made with: this program's own commands (`sim compare`, `trace info`, `plot`), each
// in a process of its own, so that they can be limited and killed and share nothing with the core. `app` runs them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace sl::controller {

struct CommandLimits {
  Duration time;  // of the clock on the wall
  std::int64_t memory_bytes = std::int64_t{1} << 30;
  std::int64_t file_bytes = std::int64_t{512} << 20;  // of each file that it writes
};

// Runs the command in the folder at the lowest priority and waits for its end. Returns what it printed. `hear` gets each
// line of its standard error, and an empty one a few times per second; once it returns false, the command is killed.
// Errors: those of the command; "simulation-limit" (it took too long, or ended by a signal, as without memory);
// "not-running" (`hear` returned false); "cannot-run".
using RunCommand =
    std::function<Result<std::string>(const std::vector<std::string>& arguments, const std::string& folder,
                                      const CommandLimits& limits, const std::function<bool(std::string_view)>& hear)>;

}  // namespace sl::controller
