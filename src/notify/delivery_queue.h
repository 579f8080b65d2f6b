// The deliveries that are open: which are due, and what becomes of each after a try. No thread, clock or socket.
//
// A delivery that fails is tried again after 5 s, then after twice as long each time, at most an hour; after 24 hours it
// has failed. Of each channel one is under way at a time, so that a receiver that hangs delays only its own; and of each
// owner not more than places are left, so that whoever has many that hang leaves room for others.
//
// Tests of a channel are not repeated, and do not wait for its other messages: they have a lane of their own, in which
// one of each channel is under way, too. Neither lane can take the other's places.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "courier/courier.h"
#include "store/notification_rows.h"

namespace sl::notify {

inline constexpr std::size_t open_per_channel_max = 1'000;
inline constexpr std::size_t under_way_max = 32;       // each is a connection
inline constexpr std::size_t tests_under_way_max = 8;  // of these
inline constexpr std::string_view test_event = "test";

class DeliveryQueue {
 public:
  // `row` is open and in the database. `is_orphan`: its channel was removed meanwhile.
  void add(store::DeliveryRow row, bool is_orphan = false);
  // Those that are due, the earliest first; they are under way from now on.
  std::vector<store::DeliveryRow> take_due(Instant now);
  // One that was under way has come back. Its row, as it is to be written.
  store::DeliveryRow settle(const std::string& id, const courier::Outcome& outcome, Instant now);
  // The channel was removed: what is open for it is due now, and tried no more, although another may get its name.
  void orphan(const std::string& owner, const std::string& channel, Instant now);
  bool is_orphan(const std::string& id) const { return open_.at(id).is_orphan; }  // of one that is under way
  // When take_due() will have one; never, if only the end of others under way can change that.
  Instant next_due() const;
  std::size_t open_for(const std::string& owner, const std::string& channel) const;

 private:
  using ChannelName = std::pair<std::string, std::string>;
  struct Open {
    store::DeliveryRow row;
    bool is_under_way = false;
    bool is_orphan = false;  // its channel was removed
  };
  // What is under way beside each other: one of each of these channels.
  struct Lane {
    std::size_t most;
    std::set<ChannelName> busy = {};
  };
  bool may_go(const store::DeliveryRow& row) const;

  std::map<std::string, Open> open_;                        // by id
  std::set<std::pair<std::int64_t, std::string>> waiting_;  // due time and id of those that are not under way
  std::map<ChannelName, std::size_t> per_channel_;          // open ones
  std::array<Lane, 2> lanes_ = {
      {{under_way_max - tests_under_way_max}, {tests_under_way_max}}};  // of messages, of tests
};

}  // namespace sl::notify
