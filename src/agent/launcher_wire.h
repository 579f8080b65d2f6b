// The messages between agent and launcher over a Unix socket: frames of a 4-byte length (host order) and fields that
// each end with a zero byte; the first field is the verb.
//
//   agent -> launcher   start KEY KIND CWD OUTPUT REQUIRED GPUS ARGC arg… env…   signal KEY NUMBER   forget KEY
//                       join KEY arg…
//                       freeze KEY   thaw KEY   lease UNTIL_US   list   ping   shutdown
//                       limit KEY NAME=VALUE…     before its start, or while it runs (limits.h)
//   launcher -> agent   state KEY STATE PID STARTED_US ENDED_US EXIT SIGNAL FAILURE_KIND FAILURE_MESSAGE GPUS STOPPED_BY
//                             FROZEN
//                       limits REASON NAME…       what it can limit, and why not the rest; before `listed`
//                       listed   pong
//
// KEY is that of an incarnation (model/incarnation.h). KIND is a sum: 1 if the attempt must end with the lease, whose time
// is in CLOCK_BOOTTIME; 2 if it has a container. Empty fields are unknown.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/limits.h"

namespace sl::agent {

using Fields = std::vector<std::string>;

std::string frame(const Fields& fields);
bool fits_in_frame(const Fields& fields);  // what does not breaks the other side's connection

// Either side drops the connection when more than this waits to be sent.
inline constexpr std::size_t unsent_bytes_max = 64 << 20;

// Collects bytes and returns whole frames. A frame over 4 MiB is a fault of the other side: `broken`.
class FrameReader {
 public:
  void add(std::string_view bytes) { buffer_ += bytes; }
  std::optional<Fields> next();
  bool broken() const { return broken_; }

 private:
  std::string buffer_;
  bool broken_ = false;
};

// GPUs as the launcher keeps them, which never interprets them: "0,1".
std::string join_gpus(const std::vector<int>& gpus);
std::vector<int> split_gpus(const std::string& text);

struct LaunchOrder {
  std::string key;
  bool fenced = false;
  std::string workdir;
  std::string output;    // file
  std::string required;  // a program that must exist besides arguments[0]; empty: none
  std::string gpus;      // "0,1"
  Fields arguments, environment;
  bool has_container =
      false;           // processes of its tree are not descendants of its leader: the container engine starts them
  Limits limits = {};  // comes before, as a LimitOrder
};
Fields to_fields(const LaunchOrder& order);
std::optional<LaunchOrder> to_launch_order(const Fields& fields);

// A program is to run beside the attempt's own, as one of its processes.
struct JoinOrder {
  std::string key;
  Fields arguments;
};
Fields to_fields(const JoinOrder& order);
std::optional<JoinOrder> to_join_order(const Fields& fields);

// What an attempt that is about to start, or runs, may have from now on. Limits that are not named stay as they are.
struct LimitOrder {
  std::string key;
  Limits limits;
};
Fields to_fields(const LimitOrder& order);
std::optional<LimitOrder> to_limit_order(const Fields& fields);

// What the launcher can limit.
struct Enforced {
  std::vector<std::string> names;  // "cpu_set", "cpus", "devices", "memory", "processes"
  std::string cannot;              // why not the others
};
Fields to_fields(const Enforced& enforced);
std::optional<Enforced> to_enforced(const Fields& fields);

struct LauncherState {
  std::string key;
  std::string state;  // running exited; as containers.h explains it, also starting
  std::int64_t pid = 0;
  std::int64_t started_us = 0;  // 0: never
  std::int64_t ended_us = 0;
  std::optional<int> exit_code, signal;
  std::string failure_kind, failure_message;
  std::string gpus;        // "0,1"
  std::string stopped_by;  // who asked it to end before it did: "order", "lease"; empty: nobody
  bool frozen = false;     // while it runs
};
Fields to_fields(const LauncherState& state);
std::optional<LauncherState> to_state(Fields fields);

}  // namespace sl::agent
