// Of what a job's user wants to be told, and through which channel: [[notify]] of a job file, `on` of a channel.
#pragma once

#include <boost/describe.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sl::wire {

struct NotifySpec {
  std::vector<std::string> on = {"finished"};  // of notify_events()
  std::string to;  // a channel: "team"; or with its receiver: "team:#vision", "mail:mei@lab.example"
  friend bool operator==(const NotifySpec&, const NotifySpec&) = default;
};
BOOST_DESCRIBE_STRUCT(NotifySpec, (), (on, to))

struct NotifyTarget {
  std::string channel, receiver;  // no receiver: that of the channel
};
NotifyTarget parse_notify_target(std::string_view text);

// What can be told of a job. "finished": it succeeded, failed or was cancelled.
std::span<const std::string_view> notify_events();
inline constexpr std::string_view server_down_event = "server_down";  // of the cluster, for admins' channels

// "team", or "failed,preempted=team".
NotifySpec parse_notify_flag(std::string_view text);

// Errors: "bad-notify", with its place below `at`.
Status validate_notify_events(const std::vector<std::string>& events, bool with_servers, const std::string& at);
Status validate_notify(const std::vector<NotifySpec>& notify);

}  // namespace sl::wire
