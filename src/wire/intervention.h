// What a user asks of a job that has been submitted: the body of POST /jobs/{id}/suspend, resume, migrate, scale, cancel,
// signal.
#pragma once

#include <boost/describe.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "wire/job_spec.h"

namespace sl::wire {

struct Intervention {
  std::string verb;               // suspend | resume | migrate | scale
  std::optional<std::string> to;  // migrate: the server; none: any other than its own
  std::optional<GpuRange> gpus;   // scale
};
BOOST_DESCRIBE_STRUCT(Intervention, (), (verb, to, gpus))

// `verb` comes from the path. An empty body is that of a verb without parameters.
Result<Intervention> parse_intervention(const std::string& verb, std::string_view body);

struct Cancellation {
  std::string reason;  // empty: none is given
  bool now = false;    // it gets no time to end by itself
  std::string signal;  // that asks it to end; empty: TERM
};
BOOST_DESCRIBE_STRUCT(Cancellation, (), (reason, now, signal))

// An empty body gives no reason. Errors besides those of reading: "bad-reason", "bad-signal".
Result<Cancellation> parse_cancellation(std::string_view body);

struct SignalRequest {
  std::string signal;
};
BOOST_DESCRIBE_STRUCT(SignalRequest, (), (signal))
// Errors besides those of reading: "bad-signal".
Result<SignalRequest> parse_signal_request(std::string_view body);

// Without "SIG" before it.
std::string plain_signal(const std::string& signal);
// TERM INT HUP QUIT USR1 USR2 KILL, also with SIG before them. Error "bad-signal".
Status check_signal(const std::string& signal);

// What a user gives as a reason is shown to others. Error "bad-reason": over 200 bytes, or not plain text.
Status check_reason(const std::string& reason);

}  // namespace sl::wire
