// What happened: the only input of the core besides time. Events are values, can be written down and replayed.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "model/job.h"
#include "model/server.h"

namespace sl {

enum class FailureKind : std::uint8_t {
  none,
  exit,
  signal,
  time_limit,
  out_of_memory,
  gpu_error,
  server_lost,
  image,
  setup,
  rejected
};
const char* to_string(FailureKind kind);
std::optional<FailureKind> parse_failure_kind(std::string_view text);

// How an attempt ended. Success is failure == none and exit_code == 0.
struct Exit {
  FailureKind failure = FailureKind::none;
  int exit_code = 0;
  int signal = 0;  // 0: not ended by a signal
  friend bool operator==(const Exit&, const Exit&) = default;
};

struct JobSubmitted {
  JobRequest request;
  bool held = false;
};
struct JobCancelled {
  JobId job;
};
struct JobHeld {
  JobId job;
  bool held = true;
};                  // held or released again
struct JobEdited {  // only what is set changes; GPUs only while it is pending
  JobId job;
  std::optional<int> priority;
  std::optional<int> gpus_min, gpus_max;
  std::optional<Duration> time_limit;
};
struct AttemptStarted {
  JobId job;
  int attempt = 0;
  JobIndex index = {};  // where the core keeps it, if the sender believes to know; saves a look-up
};                      // also: resumed, moved or resized, and running again
struct AttemptProgressed {
  JobId job;
  int attempt = 0;
  std::optional<double> loss, accuracy;  // of an epoch that has just ended
  std::optional<SpeedSample> speed;
};
struct AttemptSuspended {
  JobId job;
  int attempt = 0;
};  // it has given up its GPUs, its state is kept
struct AttemptReleased {
  JobId job;
  int attempt = 0;
  JobIndex index = {};
};  // stopped for others; goes back to the queue
struct AttemptExited {
  JobId job;
  int attempt = 0;
  Exit exit;
  bool retry = false;
  JobIndex index = {};
};  // retry: back to the queue instead of ending
struct ServerJoined {
  ServerDescription server;
};  // new, or back again
struct ServerSilent {
  std::string server;
};  // not heard of: nothing new starts there, what runs there goes on until it is surely lost
struct ServerLost {
  std::string server;
};  // and with it, surely, every attempt on it
struct ServerDrained {
  std::string server;
  bool drain = true;
};
struct TelemetrySampled {
  std::string server;
  std::vector<GpuFacts> gpus;
  GpuSet outside;
  GpuSet unavailable;
};
struct TimerFired {};

using Event = std::variant<JobSubmitted, JobCancelled, JobHeld, JobEdited, AttemptStarted, AttemptProgressed,
                           AttemptSuspended, AttemptReleased, AttemptExited, ServerJoined, ServerSilent, ServerLost,
                           ServerDrained, TelemetrySampled, TimerFired>;

}  // namespace sl
