// The idempotency keys of the last day, and the submission each stands for. The time of every operation is independent
// of their number.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/time.h"
#include "model/ids.h"

namespace sl::controller {

inline constexpr Duration idempotency_key_life = Duration::whole_seconds(24 * 3600);

class IdempotencyKeys {
 public:
  struct Entry {
    std::string body_hash;
    JobId job;
    Instant at;
    bool is_durable = false;
  };
  Entry* find(const std::string& key);
  // Keys are added in the order of their times.
  void add(const std::string& key, Entry entry);
  // The submission was refused after all.
  void drop(const std::string& key) { entries_.erase(key); }
  // Forgets keys older than a day. Returns the job of the youngest forgotten key, which has the highest id.
  std::optional<JobId> expire(Instant now);
  std::size_t size() const { return entries_.size(); }

 private:
  struct Age {
    Instant at;
    std::string key;
    JobId job;
  };
  std::unordered_map<std::string, Entry> entries_;
  std::deque<Age> by_age_;  // the oldest first
};

}  // namespace sl::controller
