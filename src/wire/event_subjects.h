// What events are about: their kind ("job.state", "announcement") is one of these, or begins with one and a dot. Whoever
// asks for events can choose one (GET /events?about=job).
#pragma once

#include <array>
#include <string_view>

namespace sl::wire {

inline constexpr std::array<std::string_view, 14> event_subjects = {
    "job",      "server",  "gpu",     "policy", "attempt", "clock",        "database",
    "decision", "history", "sign_in", "user",   "token",   "announcement", "profile"};

}  // namespace sl::wire
