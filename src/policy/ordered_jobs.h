// Jobs in ascending order of a key, for policies that keep a queue: a sorted list in chunks, so that inserting and
// erasing anywhere among many thousands moves only a few entries, and walking from the front reads memory in order. No
// two jobs have the same key: each key ends in the job's id.
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
    [[gnu::always_inline]] friend bool operator<(const Entry& a, const Entry& b) { return a.key < b.key; }
  };

 private:
  // Sorted entries in an array with room at both ends, so that removing the first moves no others, and an insertion
  // moves the fewer of those before and behind it.
  class Chunk {
   public:
    static constexpr std::uint32_t max = 64;

    Entry* begin() { return entries_.data() + first_; }
    Entry* end() { return entries_.data() + last_; }
    const Entry* begin() const { return entries_.data() + first_; }
    const Entry* end() const { return entries_.data() + last_; }
    const Entry& front() const { return *begin(); }
    std::uint32_t size() const { return last_ - first_; }
    bool empty() const { return first_ == last_; }
    void clear() { first_ = last_ = 0; }

    void insert(Entry* at, const Entry& entry) {  // the chunk is not full
      const bool moves_front = last_ == max || (first_ > 0 && at - begin() < end() - at);
      if (moves_front) {
        std::move(begin(), at, begin() - 1);
        --first_;
        set(at[-1], entry);
      } else {
        std::move_backward(at, end(), end() + 1);
        ++last_;
        set(*at, entry);
      }
    }
    void erase(Entry* at) {
      if (at - begin() < end() - at) {
        std::move_backward(begin(), at, at + 1);
        ++first_;
      } else {
        std::move(at + 1, end(), at);
        --last_;
      }
    }
    // Moves all entries from the nth on to `rest`.
    void split_off(std::uint32_t n, Chunk& rest) {
      std::move(begin() + n, end(), rest.entries_.data());
      rest.first_ = 0;
      rest.last_ = size() - n;
      last_ = first_ + n;
    }

   private:
    // Member by member: reading a whole entry right after its parts were written would wait for the writes.
    static void set(Entry& at, const Entry& entry) {
      at.key = entry.key;
      at.job = entry.job;
    }
    std::vector<Entry> entries_ = std::vector<Entry>(max);
    std::uint32_t first_ = 0, last_ = 0;
  };

 public:
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = Entry;
    using pointer = const Entry*;
    using reference = const Entry&;
    using difference_type = std::ptrdiff_t;
    Iterator() = default;
    Iterator(const Chunk* chunk, const Chunk* end) : chunk_(chunk), end_(end) {
      if (chunk_ != end_) entry_ = chunk_->begin();
    }
    const Entry& operator*() const { return *entry_; }
    const Entry* operator->() const { return entry_; }
    Iterator& operator++() {
      if (++entry_ == chunk_->end()) *this = Iterator(chunk_ + 1, end_);
      return *this;
    }
    // `n` entries on, or to the end; counts whole chunks.
    Iterator& operator+=(std::size_t n) {
      while (entry_ && n > 0) {
        const auto left = static_cast<std::size_t>(chunk_->end() - entry_);
        if (n < left) return entry_ += n, *this;
        n -= left;
        *this = Iterator(chunk_ + 1, end_);
      }
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
    if (chunks_.empty()) add_chunk(0);
    const std::size_t at = chunk_for(entry);
    Chunk& chunk = chunks_[at];
    chunk.insert(std::upper_bound(chunk.begin(), chunk.end(), entry), entry);
    if (chunk.size() == Chunk::max) split(at);
  }

  // Removes the entry of this job and key, which is the one it was inserted with. Returns whether it was there.
  bool erase(JobIndex job, const Key& key) {
    if (empty()) return false;
    const Entry entry{key, job};
    const bool is_first = !(*begin() < entry);  // nearly always in a queue
    const std::size_t in = is_first ? 0 : chunk_for(entry);
    Chunk& chunk = chunks_[in];
    Entry* const at = is_first ? chunk.begin() : std::lower_bound(chunk.begin(), chunk.end(), entry);
    if (at == chunk.end() || entry < *at) return false;
    chunk.erase(at);
    --size_;
    if (chunk.empty()) chunks_.size() > 1 ? drop_chunk(in) : chunk.clear();
    return true;
  }

  // Gives every job the key `key_of(job)`.
  template <typename KeyOf>
  void rekey(KeyOf key_of) {
    for (Chunk& chunk : chunks_) {
      for (Entry& entry : chunk) entry.key = key_of(entry.job);
    }
    if (std::is_sorted(begin(), end())) return;
    std::vector<Entry> entries(begin(), end());
    std::sort(entries.begin(), entries.end());
    auto next = entries.begin();
    for (Chunk& chunk : chunks_) {
      for (Entry& entry : chunk) entry = *next++;
    }
  }

  Iterator begin() const { return empty() ? end() : Iterator(chunks_.data(), chunks_.data() + chunks_.size()); }
  Iterator end() const { return {}; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  void clear() {
    while (!chunks_.empty()) drop_chunk(chunks_.size() - 1);
    size_ = 0;
  }

 private:
  // The chunk whose range contains the entry: the last one that begins at or before it.
  std::size_t chunk_for(const Entry& entry) const {
    if (chunks_.size() == 1 || !(entry < chunks_.back().front())) return chunks_.size() - 1;
    const auto after = std::upper_bound(chunks_.begin(), chunks_.end(), entry,
                                        [](const Entry& e, const Chunk& chunk) { return e < chunk.front(); });
    return after == chunks_.begin() ? 0 : static_cast<std::size_t>(after - chunks_.begin()) - 1;
  }
  Chunk& add_chunk(std::size_t at) {
    Chunk fresh = spare_.empty() ? Chunk() : std::move(spare_.back());
    if (!spare_.empty()) spare_.pop_back();
    return *chunks_.insert(chunks_.begin() + static_cast<std::ptrdiff_t>(at), std::move(fresh));
  }
  void drop_chunk(std::size_t at) {
    chunks_[at].clear();
    spare_.push_back(std::move(chunks_[at]));
    chunks_.erase(chunks_.begin() + static_cast<std::ptrdiff_t>(at));
  }
  // A full last chunk keeps its entries: arrivals usually go to the end.
  void split(std::size_t at) {
    const std::uint32_t keep = at + 1 == chunks_.size() ? Chunk::max - 1 : Chunk::max / 2;
    Chunk& upper = add_chunk(at + 1);
    chunks_[at].split_off(keep, upper);
  }

  std::vector<Chunk> chunks_;  // sorted; none is empty, except a single one
  std::vector<Chunk> spare_;   // memory to use again
  std::size_t size_ = 0;
};

}  // namespace sl
