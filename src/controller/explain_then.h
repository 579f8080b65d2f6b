// Explains in words why a job waited, or where it ran, at a moment of the past: from what the database keeps of it.
#pragma once

#include <deque>
#include <map>
#include <string>

#include "controller/answers.h"
#include "store/store.h"

namespace sl::controller {

// What is known beside the database.
struct Hindsight {
  std::deque<store::PolicyRow> policies;    // oldest first
  std::map<std::string, int> servers_gpus;  // of the servers known now
};

// Jobs and servers are as events tell, requests as they are now. `followed` says what came next, and what brought it
// about. Errors: "bad-time" for a moment before the submission; those of the reader.
Result<answers::Explanation> explain_then(store::Reader& reader, const store::JobRow& row, const Hindsight& hindsight,
                                          std::int64_t at_us);

}  // namespace sl::controller
