// When a job is expected to start and end, in words; from the `estimate` of its document (docs/guide/rest.md).
#pragma once

#include <string>

#include "cli/context.h"

namespace sl::cli {

// As clock_text(); within the next ten minutes to the second: minutes say nothing about jobs that last for seconds.
std::string soon_text(const std::string& rfc3339);
// "about 19:52 (19:45–20:05)"; "now"; empty: unknown
std::string range_text(const Context& context, const json::value& range);
// For a list: "starts ~19:52", "ends ~20:12"; empty: unknown. With --plain the time is UTC, in full.
std::string expected_text(const Context& context, const json::value& job);
// "starts now on gpu4, ends about 20:31 (20:24–20:45), by 31 finished runs like it", or why that is unknown; empty: there
// is no forecast.
std::string expectation_text(const Context& context, const json::value& job);

}  // namespace sl::cli
