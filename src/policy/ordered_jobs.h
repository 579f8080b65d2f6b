// Jobs in ascending order of a key, for policies that keep a queue: a sorted list in chunks, so that inserting and
// erasing anywhere among many thousands moves a few entries only, and walking from the front reads memory in order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>
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
    friend bool operator<(const Entry& a, const Entry& b) {
      if (a.key < b.key) return true;
      if (b.key < a.key) return false;
      return a.job < b.job;
    }
  };

 private:
  using Chunk = std::vector<Entry>;  // sorted, never empty, at most chunk_max entries

 public:
  class Iterator {
   public:
    using value_type = Entry;
    using difference_type = std::ptrdiff_t;
    Iterator() = default;
    Iterator(const Chunk* chunk, const Chunk* end) : chunk_(chunk), end_(end) {
      if (chunk_ != end_) entry_ = chunk_->data();
    }
    const Entry& operator*() const { return *entry_; }
    const Entry* operator->() const { return entry_; }
    Iterator& operator++() {
      if (++entry_ == chunk_->data() + chunk_->size()) *this = Iterator(chunk_ + 1, end_);
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      ++*this;
      return before;
    }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.entry_ == b.entry_; }

   private:
    const Entry* entry_ = nullptr;  // null: at the end
    const Chunk* chunk_ = nullptr;
    const Chunk* end_ = nullptr;
  };

  void insert(JobIndex job, const Key& key) {
    const Entry entry{key, job};
    ++size_;
    if (chunks_.empty()) {
      add_chunk(0).push_back(entry);
      return;
    }
    const std::size_t at = chunk_for(entry);
    Chunk& chunk = chunks_[at];
    chunk.insert(std::upper_bound(chunk.begin(), chunk.end(), entry), entry);
    if (chunk.size() == chunk_max) split(at);
  }

  // Removes the job, whose key must be the one it was inserted with. Returns whether it was there.
  bool erase(JobIndex job, const Key& key) {
    if (chunks_.empty()) return false;
    const Entry entry{key, job};
    const std::size_t in = chunk_for(entry);
    Chunk& chunk = chunks_[in];
    const auto at = std::lower_bound(chunk.begin(), chunk.end(), entry);
    if (at == chunk.end() || entry < *at) return false;
    chunk.erase(at);
    --size_;
    if (chunk.empty()) drop_chunk(in);
    return true;
  }

  Iterator begin() const { return Iterator(chunks_.data(), chunks_.data() + chunks_.size()); }
  Iterator end() const { return {}; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  void clear() {
    while (!chunks_.empty()) drop_chunk(chunks_.size() - 1);
    size_ = 0;
  }

 private:
  static constexpr std::size_t chunk_max = 64;

  // The chunk whose range the entry belongs to: the last one that begins at or before it.
  std::size_t chunk_for(const Entry& entry) const {
    if (!(entry < chunks_.back().front())) return chunks_.size() - 1;
    const auto after = std::upper_bound(chunks_.begin(), chunks_.end(), entry,
                                        [](const Entry& e, const Chunk& chunk) { return e < chunk.front(); });
    return after == chunks_.begin() ? 0 : static_cast<std::size_t>(after - chunks_.begin()) - 1;
  }
  Chunk& add_chunk(std::size_t at) {
    Chunk fresh;
    if (!spare_.empty()) {
      fresh = std::move(spare_.back());
      spare_.pop_back();
    }
    fresh.reserve(chunk_max);
    return *chunks_.insert(chunks_.begin() + static_cast<std::ptrdiff_t>(at), std::move(fresh));
  }
  void drop_chunk(std::size_t at) {
    chunks_[at].clear();
    spare_.push_back(std::move(chunks_[at]));
    chunks_.erase(chunks_.begin() + static_cast<std::ptrdiff_t>(at));
  }
  // A full last chunk keeps its entries: arrivals usually go to the end.
  void split(std::size_t at) {
    const std::size_t keep = at + 1 == chunks_.size() ? chunk_max - 1 : chunk_max / 2;
    Chunk& upper = add_chunk(at + 1);
    Chunk& lower = chunks_[at];
    upper.assign(lower.begin() + static_cast<std::ptrdiff_t>(keep), lower.end());
    lower.resize(keep);
  }

  std::vector<Chunk> chunks_;
  std::vector<Chunk> spare_;  // memory to use again
  std::size_t size_ = 0;
};

}  // namespace sl
