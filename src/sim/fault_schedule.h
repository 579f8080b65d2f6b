// When servers are lost and come back: as planned and, with a mean time between failures, at random. Draws come from a
// separate stream, so that what the policy does changes no fault.
#pragma once

#include <queue>
#include <vector>

#include "base/random.h"
#include "sim/cluster.h"

namespace sl::sim {

class FaultSchedule {
 public:
  struct Event {
    Instant at;
    std::size_t server;
    bool lost;
    bool planned;
    std::uint32_t epoch;  // the server's epoch when this was drawn: how often it has gone or come back
    friend bool operator>(const Event& a, const Event& b) { return a.at != b.at ? a.at > b.at : a.server > b.server; }
  };

  FaultSchedule(const Cluster& cluster, Random random, Instant from);

  Instant next() const { return events_.empty() ? Instant::never() : events_.top().at; }
  // The next event; call when next() has come. Losses of servers that are already lost are left out.
  Event take();
  bool all_up() const { return down_ == 0; }
  bool any_planned() const { return planned_ > 0; }

 private:
  void draw(std::size_t server, bool lost, Instant from);
  void skip();

  const Cluster& cluster_;
  Random random_;
  std::vector<char> is_down_;
  std::vector<std::uint32_t> epoch_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::size_t down_ = 0, planned_ = 0;
};

}  // namespace sl::sim
