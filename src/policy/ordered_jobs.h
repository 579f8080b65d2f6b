// Jobs in ascending order of a key, for policies that keep a queue. A sorted array: arrivals usually go to the end and
// departures come from the front, both in constant time; anything else moves memory, which is quick up to many
// thousands.
#pragma once

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <vector>

#include "model/job.h"

namespace sl {

// The usual key: higher priority first, then earlier submitted, then the lower id.
struct ArrivalKey {
  int priority = 0;
  Instant submitted;
  JobId id;
  static ArrivalKey of(const Job& job) { return {-job.request.priority, job.request.submitted, job.request.id}; }
  friend auto operator<=>(const ArrivalKey&, const ArrivalKey&) = default;
};

template <typename Key>
class OrderedJobs {
 public:
  struct Entry {
    Key key;
    JobIndex job;
    friend bool operator<(const Entry& a, const Entry& b) { return a.key < b.key; }
  };

  void insert(JobIndex job, const Key& key) {
    const Entry entry{key, job};
    if (entries_.size() == head_ || entries_.back() < entry) {
      entries_.push_back(entry);
    } else if (head_ > 0 && entry < entries_[head_]) {
      entries_[--head_] = entry;
    } else {
      entries_.insert(std::upper_bound(begin(), end(), entry), entry);
    }
  }

  // Removes the job, whose key must be the one it was inserted with. Returns whether it was there.
  bool erase(JobIndex job, const Key& key) {
    auto at = std::lower_bound(begin(), end(), Entry{key, job});
    while (at != end() && at->job != job && !(Entry{key, job} < *at)) ++at;
    if (at == end() || at->job != job) return false;
    if (at == begin()) {
      drop_first();
    } else {
      entries_.erase(at);
    }
    return true;
  }

  auto begin() { return entries_.begin() + static_cast<std::ptrdiff_t>(head_); }
  auto end() { return entries_.end(); }
  auto begin() const { return entries_.begin() + static_cast<std::ptrdiff_t>(head_); }
  auto end() const { return entries_.end(); }
  std::size_t size() const { return entries_.size() - head_; }
  bool empty() const { return size() == 0; }
  void clear() {
    entries_.clear();
    head_ = 0;
  }

 private:
  void drop_first() {
    if (++head_ < 1024 || head_ * 2 < entries_.size()) {
      if (head_ == entries_.size()) clear();
      return;
    }
    entries_.erase(entries_.begin(), begin());
    head_ = 0;
  }
  std::vector<Entry> entries_;
  std::size_t head_ = 0;  // entries before it are gone
};

}  // namespace sl
