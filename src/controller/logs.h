// Output of jobs, and other files that they have left, fetched from the agents on demand: a read is a request with a number and a continuation. Nothing is
// kept here; the offset in the file is the only position.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <functional>
#include <string>

#include "controller/incarnations.h"

namespace sl::controller {

struct LogPiece {
  std::int64_t offset = 0;  // of the first byte
  std::string bytes;
  std::int64_t size = 0;  // of the whole output now
  bool ended = false;     // the attempt has ended and these are its last bytes
  std::string kind = {};  // as in wire::LogChunk
  std::vector<wire::OutputTime> times = {};
};

class Logs {
 public:
  Logs(Agents& agents, Outside& outside) : agents_(agents), outside_(outside) {}

  // Without agents: the piece, from files. Errors: "output-not-found".
  using ReadFiles = std::function<Result<LogPiece>(const Output& output, std::int64_t offset, std::int64_t limit)>;
  void read_from(ReadFiles files) { files_ = std::move(files); }

  using Continue = std::function<void(Result<LogPiece>)>;
  // Reads from an attempt's output, or from what `output` names. Errors: "server-unreachable", "output-not-found";
  // "no-such-file", "file-unreadable". wait_s > 0: answers when there is something to read, or after that long.
  void read(const Output& output, std::int64_t offset, std::int64_t limit, double wait_s, Continue then);

  void on_chunk(SessionId session, const wire::LogChunk& chunk);
  // Pending reads from this agent get "server-unreachable".
  void on_closed(SessionId session);

 private:
  struct Waiting {
    SessionId session;
    std::int64_t job;
    Continue then;
  };
  Agents& agents_;
  Outside& outside_;
  std::int64_t next_request_ = 1;
  std::map<std::int64_t, Waiting> waiting_;
  ReadFiles files_;  // null: ask the agents
};

}  // namespace sl::controller
