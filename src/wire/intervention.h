// What a user asks of a job that has been submitted: the body of POST /jobs/{id}/suspend, resume, migrate, scale, cancel.
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
};
BOOST_DESCRIBE_STRUCT(Cancellation, (), (reason))

// An empty body gives no reason. Error besides those of reading: "bad-reason".
Result<Cancellation> parse_cancellation(std::string_view body);

// What a user gives as a reason is shown to others. Error "bad-reason": over 200 bytes, or not plain text.
Status check_reason(const std::string& reason);

}  // namespace sl::wire
