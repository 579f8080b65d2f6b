#include "sim/fault_schedule.h"

#include <algorithm>

namespace sl::sim {

FaultSchedule::FaultSchedule(const Cluster& cluster, Random random, Instant from)
    : cluster_(cluster),
      random_(random),
      is_down_(static_cast<std::size_t>(cluster.servers()), 0),
      epoch_(is_down_.size(), 0) {
  if (!cluster.events.empty()) {
    const std::vector<ServerDescription> servers = cluster.descriptions();
    for (const ServerEvent& event : cluster.events) {
      const auto at =
          std::find_if(servers.begin(), servers.end(), [&](const auto& s) { return s.name == event.server; });
      if (at == servers.end()) continue;
      events_.push({event.at, static_cast<std::size_t>(at - servers.begin()), event.lost, true, 0});
      ++planned_;
    }
  }
  for (std::size_t server = 0; server < is_down_.size(); ++server) draw(server, true, from);
  skip();
}

void FaultSchedule::draw(std::size_t server, bool lost, Instant from) {
  if (cluster_.faults.server_mtbf.us == 0) return;
  const Duration mean = lost ? cluster_.faults.server_mtbf : cluster_.faults.server_repair;
  const Duration after = Duration::seconds(std::min(random_.exponential(mean.to_seconds()), 1e11));
  events_.push({from + std::max(after, Duration{1}), server, lost, false, epoch_[server]});
}

// Skips events that change nothing and drawn ones that a planned event has overtaken.
void FaultSchedule::skip() {
  const auto is_void = [this](const Event& event) {
    return (is_down_[event.server] != 0) == event.lost || (!event.planned && event.epoch != epoch_[event.server]);
  };
  while (!events_.empty() && is_void(events_.top())) {
    const Event& event = events_.top();
    planned_ -= event.planned;
    if (event.planned && event.lost) ++epoch_[event.server];  // it is down, and no repair that was drawn ends that
    events_.pop();
  }
}

FaultSchedule::Event FaultSchedule::take() {
  const Event event = events_.top();
  events_.pop();
  planned_ -= event.planned;
  is_down_[event.server] = event.lost;
  ++epoch_[event.server];
  event.lost ? ++down_ : --down_;
  if (!event.planned || !event.lost) draw(event.server, !event.lost, event.at);
  skip();
  return event;
}

}  // namespace sl::sim
