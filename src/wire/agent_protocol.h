// Messages between controller and agent: JSON text frames over one WebSocket on the controller's port, path
// /api/v1/agent, opened by the agent. Version 1 (docs/formats/agent-protocol.md).
//
// Every frame is {"type": "...", ...fields}. Reports of the agent and orders of the controller carry `seq`, counted per
// direction and session from 1: what comes twice is ignored, and when one is missing the session is given up. The next
// one begins with Hello, which tells all the agent holds, so both sides agree again whatever was lost. Orders are keyed
// by (job, attempt) and may be sent again.
//
// The lease: an agent may count on it for `lease_s` from the moment a ping (or Hello) left that was answered. Attempts
// with on_partition "stop" end with it; the controller starts them elsewhere only when it has surely run out.
#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "wire/job_spec.h"

namespace sl::wire {

inline constexpr int agent_protocol_version = 1;

struct GpuReport {
  int index = 0;
  std::string uuid;
  std::string name;
  std::int64_t memory_total_bytes = 0;
  std::int64_t memory_used_bytes = 0;
  std::optional<double> utilization_pct;  // unknown when the driver cannot tell
  std::optional<double> temperature_celsius;
  std::optional<double> power_watts;
  std::vector<std::int64_t> outside_pids;  // processes on it that no attempt of ours owns
};
BOOST_DESCRIBE_STRUCT(GpuReport, (),
                      (index, uuid, name, memory_total_bytes, memory_used_bytes, utilization_pct, temperature_celsius,
                       power_watts, outside_pids))

// How an attempt stands on the agent. state: starting | running | stopping | exited.
struct AttemptReport {
  std::int64_t job_id = 0;
  int attempt = 0;
  std::string state;
  std::int64_t pid = 0;
  std::vector<int> gpus;                   // indexes on this server
  std::optional<std::int64_t> started_us;  // UTC, microseconds
  std::optional<std::int64_t> ended_us;
  std::optional<int> exit_code;                // set when it exited by itself
  std::optional<int> signal;                   // set when a signal ended it
  std::optional<std::string> failure_kind;     // "setup" when it never ran, "lost" when the exit status is unknowable
  std::optional<std::string> failure_message;  // "no such command: pyton"
};
BOOST_DESCRIBE_STRUCT(AttemptReport, (),
                      (job_id, attempt, state, pid, gpus, started_us, ended_us, exit_code, signal, failure_kind,
                       failure_message))

// ---- agent -> controller ----
struct Hello {  // first frame of a session
  int protocol = agent_protocol_version;
  std::string agent_version;
  std::string server;    // its name, unique in the cluster
  std::string agent_id;  // random, kept in the agent's data directory: tells two servers of one name apart
  bool simulated = false;
  int cpus = 0;
  std::int64_t memory_total_bytes = 0;
  std::string driver_version;
  std::vector<GpuReport> gpus;
  std::vector<AttemptReport> attempts;  // all it holds, exited ones it was not told to forget included
};
BOOST_DESCRIBE_STRUCT(Hello, (),
                      (protocol, agent_version, server, agent_id, simulated, cpus, memory_total_bytes, driver_version,
                       gpus, attempts))

struct AttemptChanged {
  std::int64_t seq = 0;
  AttemptReport report;
};
BOOST_DESCRIBE_STRUCT(AttemptChanged, (), (seq, report))

struct Progress {  // the last line of the metrics file, at most a few times a second per attempt; lost ones do not
                   // matter
  std::int64_t job_id = 0;
  int attempt = 0;
  std::optional<double> done;  // epochs or steps
  std::optional<double> total;
  std::string unit;  // "epoch" | "step" | ""
  std::optional<double> loss;
  std::optional<double> accuracy;
  std::int64_t at_us = 0;
};
BOOST_DESCRIBE_STRUCT(Progress, (), (job_id, attempt, done, total, unit, loss, accuracy, at_us))

struct Telemetry {
  std::int64_t at_us = 0;
  std::optional<double> cpu_utilization_pct;
  std::optional<std::int64_t> memory_used_bytes;
  std::vector<GpuReport> gpus;
};
BOOST_DESCRIBE_STRUCT(Telemetry, (), (at_us, cpu_utilization_pct, memory_used_bytes, gpus))

struct LogChunk {  // answer to LogRead of the same request
  std::int64_t request = 0;
  std::int64_t offset = 0;           // of the first byte of data
  std::string data;                  // base64
  std::int64_t size = 0;             // bytes in the file now
  bool ended = false;                // the attempt has ended and [offset, offset+data) reaches its last byte
  std::optional<std::string> error;  // "unknown-attempt"
};
BOOST_DESCRIBE_STRUCT(LogChunk, (), (request, offset, data, size, ended, error))

// ---- controller -> agent ----
struct Welcome {
  std::string controller_version;
  std::int64_t session = 0;
  double lease_s = 30;
};
BOOST_DESCRIBE_STRUCT(Welcome, (), (controller_version, session, lease_s))

struct Refused {
  std::string code;
  std::string message;
};  // then the controller closes: wrong token, protocol, duplicate name
BOOST_DESCRIBE_STRUCT(Refused, (), (code, message))

struct StartAttempt {
  std::int64_t seq = 0;
  std::int64_t job_id = 0;
  int attempt = 0;
  bool resume = false;    // an earlier attempt was preempted or lost: SCHEDULEARN_RESUME=1
  std::vector<int> gpus;  // indexes on this server
  JobSpec spec;
};
BOOST_DESCRIBE_STRUCT(StartAttempt, (), (seq, job_id, attempt, resume, gpus, spec))

struct StopAttempt {  // signal, grace, KILL. reason: cancelled | preempted | time_limit | stranger
  std::int64_t seq = 0;
  std::int64_t job_id = 0;
  int attempt = 0;
  std::string reason;
  std::string signal = "TERM";
  double grace_s = 30;
};
BOOST_DESCRIBE_STRUCT(StopAttempt, (), (seq, job_id, attempt, reason, signal, grace_s))

struct ForgetAttempt {
  std::int64_t seq = 0;
  std::int64_t job_id = 0;
  int attempt = 0;
};  // its end is durable: keep the output only
BOOST_DESCRIBE_STRUCT(ForgetAttempt, (), (seq, job_id, attempt))

struct LogRead {
  std::int64_t request = 0;
  std::int64_t job_id = 0;
  int attempt = 0;
  std::int64_t offset = 0;  // negative: that many bytes before the end
  std::int64_t limit = 65536;
  double wait_s = 0;  // with nothing to read yet, answer when there is or after this long
};
BOOST_DESCRIBE_STRUCT(LogRead, (), (request, job_id, attempt, offset, limit, wait_s))

// ---- both ----
struct Ping {
  std::int64_t at_us = 0;     // the agent's clock, sent back as it came: renews the lease from that moment
  std::int64_t last_seq = 0;  // of the sender in this session: tells whether something was lost
};
BOOST_DESCRIBE_STRUCT(Ping, (), (at_us, last_seq))

using AgentMessage = std::variant<Hello, AttemptChanged, Progress, Telemetry, LogChunk, Ping>;
using ControllerMessage = std::variant<Welcome, Refused, StartAttempt, StopAttempt, ForgetAttempt, LogRead, Ping>;

// The type name in JSON is the struct's name in snake_case: "attempt_changed". Unknown keys are tolerated (a newer
// peer).
std::string encode(const AgentMessage& message);
std::string encode(const ControllerMessage& message);
Result<AgentMessage> decode_agent_message(std::string_view text);
Result<ControllerMessage> decode_controller_message(std::string_view text);

}  // namespace sl::wire
