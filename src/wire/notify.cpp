#include "wire/notify.h"

#include <algorithm>

#include "base/suggest.h"
#include "wire/secrets.h"

namespace sl::wire {
namespace {

constexpr std::string_view events[] = {"started",   "succeeded", "failed",   "cancelled", "finished",
                                       "preempted", "suspended", "migrated", "resized"};
constexpr std::size_t notify_max = 8, receiver_bytes_max = 200;

bool is_receiver(std::string_view text) {
  return text.size() <= receiver_bytes_max &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c < 127 && c != '<' && c != '>'; });
}

}  // namespace

std::span<const std::string_view> notify_events() { return events; }

NotifyTarget parse_notify_target(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return {std::string(text), ""};
  return {std::string(text.substr(0, colon)), std::string(text.substr(colon + 1))};
}

NotifySpec parse_notify_flag(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) return {.to = std::string(text)};
  NotifySpec notify{{}, std::string(text.substr(equals + 1))};
  for (std::string_view rest = text.substr(0, equals); !rest.empty();) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    notify.on.emplace_back(rest.substr(0, comma));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return notify;
}

Status validate_notify_events(const std::vector<std::string>& wanted, bool with_servers, const std::string& at) {
  std::vector<std::string_view> known(std::begin(events), std::end(events));
  if (with_servers) known.push_back(server_down_event);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (std::ranges::find(known, wanted[i]) != known.end()) continue;
    Error error = invalid("bad-notify", "'" + wanted[i] + "' is nothing that one can be told of");
    if (const auto near = did_you_mean(wanted[i], known)) error.hints.push_back("did you mean " + *near + "?");
    std::string all;
    for (const std::string_view event : known) all += (all.empty() ? "" : ", ") + std::string(event);
    error.notes.push_back("there are: " + all);
    return std::move(error).at(at + "/" + std::to_string(i));
  }
  return {};
}

Status validate_notify(const std::vector<NotifySpec>& notify) {
  if (notify.size() > notify_max) return invalid("bad-notify", "a job tells of itself in at most 8 ways").at("/notify");
  for (std::size_t i = 0; i < notify.size(); ++i) {
    const std::string at = "/notify/" + std::to_string(i);
    if (const Status known = validate_notify_events(notify[i].on, false, at + "/on"); !known.ok()) return known;
    if (notify[i].on.empty())
      return invalid("bad-notify", "on names nothing to be told of").hint("on = [\"finished\"]").at(at + "/on");
    const NotifyTarget to = parse_notify_target(notify[i].to);
    if (!is_secret_name(to.channel) || !is_receiver(to.receiver))
      return invalid("bad-notify", "'" + notify[i].to + "' names no channel")
          .hint("to = \"team\", one of: schedulearn notify ls")
          .at(at + "/to");
  }
  return {};
}

}  // namespace sl::wire
