// What survives a restart of notifications (controller/notifications.h): the channels of users, and what is sent
// through them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace sl::store {

struct ChannelRow {
  std::string owner, name;
  std::string settings_json;  // controller/channels.h; empty: it has been removed
  friend bool operator==(const ChannelRow&, const ChannelRow&) = default;
};

// One message through one channel. Complete, like a job's row: it replaces the previous one of its id.
struct DeliveryRow {
  std::int64_t number = 0;  // ascends; 0: not written yet
  std::string id;           // random: by it a receiver knows what it has received before
  std::int64_t made_us = 0;
  std::int64_t next_us = 0;   // when it is tried again; 0: it is over
  std::int64_t tried_us = 0;  // last; 0: never
  int tries = 0;
  int status = 0;  // of the last answer (HTTP or SMTP); 0: none
  std::optional<std::int64_t> job_id;
  std::string owner, channel, receiver;  // `receiver`: empty: that of the channel
  std::string user;                      // of the job; empty: it is about no job
  std::string event;                     // "failed", "test"
  std::string state;                     // waiting delivered failed dropped
  std::string why;                       // it is not delivered, in words
  std::string body;                      // what is told, as JSON (controller/notice.h)
  friend bool operator==(const DeliveryRow&, const DeliveryRow&) = default;
};
inline constexpr std::int64_t deliveries_max = 10'000;  // kept of those that are over, the latest

// Newest first. Empty fields exclude nothing.
struct DeliveryQuery {
  std::string reader;  // only those of this user's channels or jobs
  std::string channel;
  std::int64_t before = INT64_MAX;  // numbers below this one
  std::size_t limit = 100;
};

}  // namespace sl::store
