// What agent and launcher say to each other over a Unix socket: frames of a 4-byte length (host order) and fields that
// each end with a zero byte; the first field is the verb.
//
//   agent -> launcher   start KEY FENCED CWD OUTPUT REQUIRED GPUS ARGC arg… env…   signal KEY NUMBER   forget KEY
//                       lease UNTIL_US   list   shutdown
//   launcher -> agent   state KEY STATE PID STARTED_US ENDED_US EXIT SIGNAL FAILURE_KIND FAILURE_MESSAGE GPUS   listed
//
// KEY is "job.attempt". FENCED is 1 when the attempt must end with the lease, whose time is CLOCK_BOOTTIME. Empty
// fields are unknown.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sl::agent {

using Fields = std::vector<std::string>;

std::string frame(const Fields& fields);

// Collects bytes and hands out whole frames. A frame over 4 MiB is a fault of the other side: `broken`.
class FrameReader {
 public:
  void add(std::string_view bytes) { buffer_ += bytes; }
  std::optional<Fields> next();
  bool broken() const { return broken_; }

 private:
  std::string buffer_;
  bool broken_ = false;
};

struct LaunchOrder {
  std::string key;
  bool fenced = false;
  std::string workdir;
  std::string output;    // file
  std::string required;  // a program that must exist beside arguments[0]; empty: none
  std::string gpus;      // "0,1"
  Fields arguments, environment;
};
Fields to_fields(const LaunchOrder& order);
std::optional<LaunchOrder> to_launch_order(const Fields& fields);

struct LauncherState {
  std::string key;
  std::string state;  // running exited
  std::int64_t pid = 0;
  std::int64_t started_us = 0;  // 0: never
  std::int64_t ended_us = 0;
  std::optional<int> exit_code, signal;
  std::string failure_kind, failure_message;
  std::string gpus;  // "0,1"
};
Fields to_fields(const LauncherState& state);
std::optional<LauncherState> to_state(const Fields& fields);

}  // namespace sl::agent
