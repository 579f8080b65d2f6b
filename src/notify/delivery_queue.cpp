#include "notify/delivery_queue.h"

#include <algorithm>

#include "base/check.h"

namespace sl::notify {
namespace {

constexpr Duration first_pause = Duration::whole_seconds(5), longest_pause = Duration::whole_seconds(3600),
                   patience = Duration::whole_seconds(24 * 3600);

Duration pause_after(int tries, std::int64_t asked_s) {
  Duration pause = first_pause;
  for (int i = 1; i < tries && pause < longest_pause; ++i) pause = pause * 2;
  const Duration asked = Duration::whole_seconds(std::clamp<std::int64_t>(asked_s, 0, 3600));
  return std::min(std::max(pause, asked), longest_pause);
}

bool is_test(const store::DeliveryRow& row) { return row.event == test_event; }

}  // namespace

void DeliveryQueue::add(store::DeliveryRow row, bool is_orphan) {
  ++per_channel_[{row.owner, row.channel}];
  waiting_.insert({row.next_us, row.id});
  const std::string id = row.id;
  open_[id] = {std::move(row), false, is_orphan};
}

bool DeliveryQueue::may_go(const store::DeliveryRow& row) const {
  const auto& [most, busy] = lanes_[is_test(row)];
  const std::size_t own = std::ranges::count(busy, row.owner, &ChannelName::first);
  return own < most - busy.size() && !busy.contains({row.owner, row.channel});
}

std::vector<store::DeliveryRow> DeliveryQueue::take_due(Instant now) {
  std::vector<store::DeliveryRow> due;
  for (auto at = waiting_.begin(); at != waiting_.end() && at->first <= now.us;) {
    Open& open = open_.at(at->second);
    if (!may_go(open.row)) {
      ++at;
      continue;
    }
    open.is_under_way = true;
    lanes_[is_test(open.row)].busy.insert({open.row.owner, open.row.channel});
    due.push_back(open.row);
    at = waiting_.erase(at);
  }
  return due;
}

store::DeliveryRow DeliveryQueue::settle(const std::string& id, const courier::Outcome& outcome, Instant now) {
  const auto found = open_.find(id);
  SL_CHECK(found != open_.end() && found->second.is_under_way, "only what is under way comes back");
  store::DeliveryRow& row = found->second.row;
  const ChannelName channel(row.owner, row.channel);
  lanes_[is_test(row)].busy.erase(channel);
  ++row.tries;
  row.tried_us = now.us;
  row.status = outcome.status;
  row.why = outcome.why;
  row.next_us = (now + pause_after(row.tries, outcome.wait_s)).us;
  const bool is_given_up = outcome.is_refused_here || is_test(row) || found->second.is_orphan ||
                           Instant{row.next_us} - Instant{row.made_us} > patience;
  row.state = outcome.is_delivered ? "delivered" : is_given_up ? "failed" : "waiting";
  if (row.state == "waiting") {
    found->second.is_under_way = false;
    waiting_.insert({row.next_us, id});
    return row;
  }
  row.next_us = 0;
  store::DeliveryRow ended = std::move(row);
  open_.erase(found);
  if (--per_channel_[channel] == 0) per_channel_.erase(channel);
  return ended;
}

void DeliveryQueue::orphan(const std::string& owner, const std::string& channel, Instant now) {
  for (auto& [id, open] : open_) {
    if (open.row.owner != owner || open.row.channel != channel) continue;
    open.is_orphan = true;
    if (open.is_under_way) continue;
    waiting_.erase({open.row.next_us, id});
    open.row.next_us = std::min(open.row.next_us, now.us);
    waiting_.insert({open.row.next_us, id});
  }
}

Instant DeliveryQueue::next_due() const {
  for (const auto& [due_us, id] : waiting_) {
    if (may_go(open_.at(id).row)) return Instant{due_us};
  }
  return Instant::never();
}

std::size_t DeliveryQueue::open_for(const std::string& owner, const std::string& channel) const {
  const auto found = per_channel_.find({owner, channel});
  return found == per_channel_.end() ? 0 : found->second;
}

}  // namespace sl::notify
