// Waiting jobs in the order of a key, one line for each shape of job. A shape is all that decides where a job fits: how
// many GPUs, on one server or several, of which type and memory, with which CPUs and memory. While free GPUs only
// become fewer, the first job of a line that does not fit closes the line: those behind it would not fit either. So a
// pass over thousands of waiting jobs costs what is started, plus one attempt for each shape.
#pragma once

#include <boost/container/small_vector.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <vector>

#include "policy/ordered_jobs.h"
#include "policy/snapshot.h"

namespace sl {

struct Shape {
  int gpus = 1;
  bool single_server = true;
  std::optional<std::int64_t> gpu_memory_bytes;
  ResourceVector demand;
  std::vector<GpuTypeIndex> gpu_types;

  static Shape of(const JobRequest& request, int gpus);
  // Any GPUs will do, and nothing else is asked for.
  bool is_plain() const { return gpu_types.empty() && !gpu_memory_bytes && demand.is_zero(); }
  friend bool operator==(const Shape&, const Shape&) = default;
};

// Shapes as small integers. They are never forgotten: there are as many as users think of.
class Shapes {
 public:
  std::uint32_t intern(const JobRequest& request, int gpus);
  const Shape& operator[](std::uint32_t shape) const { return shapes_[shape]; }
  std::size_t size() const { return shapes_.size(); }

 private:
  std::vector<Shape> shapes_;
  boost::unordered_flat_map<std::size_t, std::uint32_t> by_hash_;
};

template <typename Key>
class WaitingLines {
 public:
  static constexpr std::uint32_t no_line = ~std::uint32_t{0};

  void insert(JobIndex job, const JobRequest& request, int gpus, const Key& key) {
    while (!line_of_.contains(job)) {
      line_of_.push_back(no_line);
      key_of_.push_back({});
    }
    erase(job);
    const std::uint32_t line = shapes_.intern(request, gpus);
    if (line >= lines_.size()) lines_.resize(line + 1);
    line_of_[job] = line;
    key_of_[job] = key;
    lines_[line].insert(job, key);
    ++size_;
  }
  bool erase(JobIndex job) {
    if (!contains(job)) return false;
    const bool was_there = lines_[line_of_[job]].erase(job, key_of_[job]);
    SL_CHECK(was_there, "a waiting job stands in its line with its key");
    line_of_[job] = no_line;
    --size_;
    return true;
  }
  // Moves the job, if it stands here, to where `key` belongs.
  void rekey(JobIndex job, const Key& key) {
    if (!contains(job)) return;
    Key& kept = key_of_[job];
    if (!(kept < key) && !(key < kept)) return;
    lines_[line_of_[job]].erase(job, kept);
    lines_[line_of_[job]].insert(job, key);
    kept = key;
  }
  bool contains(JobIndex job) const { return line_of_.contains(job) && line_of_[job] != no_line; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const Shapes& shapes() const { return shapes_; }
  void clear() {
    for (auto& line : lines_) line.clear();
    line_of_.clear();
    key_of_.clear();
    size_ = 0;
  }

  // One line each, from its first job, as long as the lines do not change.
  struct View {
    typename OrderedJobs<Key>::Iterator at, end;
    std::uint32_t shape;
    bool done() const { return at == end; }
  };
  std::vector<View> views() const {
    std::vector<View> all;
    for (std::uint32_t line = 0; line < lines_.size(); ++line) {
      if (!lines_[line].empty()) all.push_back({lines_[line].begin(), lines_[line].end(), line});
    }
    return all;
  }

  // All jobs in order of key, as long as the lines do not change. Usage: for (Walk w(lines); !w.done(); …)
  class Walk {
   public:
    explicit Walk(const WaitingLines& lines) : Walk(lines, [](std::uint32_t, const Key&) { return false; }) {}
    // Leaves lines aside of which `leave(line, key of its first job)` says so.
    template <typename Leave>
    Walk(const WaitingLines& lines, Leave leave) : lines_(&lines) {
      for (std::uint32_t line = 0; line < lines.lines_.size(); ++line) {
        const auto& jobs = lines.lines_[line];
        if (jobs.empty()) continue;
        leave(line, jobs.begin()->key) ? aside_.push_back(line) : cursors_.push_back({jobs.begin(), line});
      }
      std::make_heap(cursors_.begin(), cursors_.end());
    }
    // Lines left aside join after all, if their first job has not been passed yet.
    void join() {
      for (const std::uint32_t line : aside_) {
        const Cursor cursor{lines_->lines_[line].begin(), line};
        if (!(cursor < cursors_.front())) continue;
        cursors_.push_back(cursor);
        std::push_heap(cursors_.begin(), cursors_.end());
      }
      aside_.clear();
    }
    bool done() const { return cursors_.empty(); }
    JobIndex job() const { return cursors_.front().at->job; }
    const Key& key() const { return cursors_.front().at->key; }
    std::uint32_t shape() const { return cursors_.front().line; }
    void next() {
      std::pop_heap(cursors_.begin(), cursors_.end());
      if (++cursors_.back().at == Iterator()) {
        cursors_.pop_back();
      } else {
        std::push_heap(cursors_.begin(), cursors_.end());
      }
    }
    // The rest of this job's line is not visited.
    void close_line() {
      std::pop_heap(cursors_.begin(), cursors_.end());
      cursors_.pop_back();
    }

   private:
    using Iterator = typename OrderedJobs<Key>::Iterator;
    struct Cursor {
      Iterator at;
      std::uint32_t line;
      friend bool operator<(const Cursor& a, const Cursor& b) { return *b.at < *a.at; }  // least key on top
    };
    const WaitingLines* lines_;
    boost::container::small_vector<Cursor, 16> cursors_;
    boost::container::small_vector<std::uint32_t, 16> aside_;
  };

 private:
  Shapes shapes_;
  std::vector<OrderedJobs<Key>> lines_;             // by shape
  IndexedVector<JobIndex, std::uint32_t> line_of_;  // kept apart: asked of every job that ends
  IndexedVector<JobIndex, Key> key_of_;
  std::size_t size_ = 0;
};

}  // namespace sl
