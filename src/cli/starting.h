// What a person writes about when a job starts, as the job file's keys take it: names of jobs become numbers, and local
// times and durations a time in UTC.
#pragma once

#include "cli/context.h"

namespace sl::cli {

// Adds "lr=0.1,0.01" as {"matrix": {"lr": ["0.1", "0.01"]}}. Error "bad-flag".
Status add_matrix(json::object& job, const std::vector<std::string>& entries);

// Replaces the values of `after`, `after_any` and `not_before`. Errors: those of select_jobs; "bad-time".
Status resolve_starting(const Context& context, json::object& job);

enum class Toward { future, past };

// A time in microseconds since 1970: 21:00 (the next, or the last, time at which the local clock shows that),
// 2026-11-23 21:00 (local), 2h (from `now_us` on, or before it), or as wire::parse_time_us reads it. Error "bad-time".
Result<std::int64_t> time_meant(const std::string& text, std::int64_t now_us, Toward toward = Toward::future);
std::int64_t clock_us();

}  // namespace sl::cli
