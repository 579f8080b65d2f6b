#include "controller/idempotency_keys.h"

#include <utility>

namespace sl::controller {

IdempotencyKeys::Entry* IdempotencyKeys::find(const std::string& key) {
  const auto at = entries_.find(key);
  return at == entries_.end() ? nullptr : &at->second;
}

void IdempotencyKeys::add(const std::string& key, Entry entry) {
  by_age_.push_back({entry.at, key, entry.job});
  entries_[key] = std::move(entry);
}

std::optional<JobId> IdempotencyKeys::expire(Instant now) {
  std::optional<JobId> last;
  for (; !by_age_.empty() && by_age_.front().at + idempotency_key_life < now; by_age_.pop_front()) {
    const Age& oldest = by_age_.front();
    const auto at = entries_.find(oldest.key);
    if (at != entries_.end() && at->second.job == oldest.job) entries_.erase(at);  // else it has been reused since
    last = oldest.job;
  }
  return last;
}

}  // namespace sl::controller
