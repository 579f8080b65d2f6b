// Output of jobs, fetched from the agents on demand: a read is a request with a number and a continuation. Nothing is
// kept here; the offset in the file is the only position there is.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <functional>
#include <string>

#include "controller/agents.h"

namespace sl::controller {

struct LogPiece {
  std::int64_t offset = 0;  // of the first byte
  std::string bytes;
  std::int64_t size = 0;  // of the whole output now
  bool ended = false;     // the attempt is over and these are its last bytes
};

class Logs {
 public:
  Logs(Agents& agents, Outside& outside) : agents_(agents), outside_(outside) {}

  using Continue = std::function<void(Result<LogPiece>)>;
  // Reads from an attempt's output. wait_s > 0: answers when there is something, or after that long.
  void read(const std::string& server, JobId job, int attempt, std::int64_t offset, std::int64_t limit, double wait_s,
            Continue then);

  void on_chunk(SessionId session, const wire::LogChunk& chunk);
  // Readers waiting for this agent get "server-unreachable".
  void on_closed(SessionId session);

 private:
  struct Waiting {
    SessionId session;
    Continue then;
  };
  Agents& agents_;
  Outside& outside_;
  std::int64_t next_request_ = 1;
  std::map<std::int64_t, Waiting> waiting_;
};

// Standard base64 with padding; an empty optional for malformed text.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace sl::controller
