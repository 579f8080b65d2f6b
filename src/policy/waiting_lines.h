// Waiting jobs in the order of a key, one line for each shape of job. A shape is everything that decides where a job
// fits: how many GPUs, on one server or several, of which type and memory, with which CPUs and memory, on which
// servers. While free GPUs only become fewer, the first job of a line that does not fit closes the line: those behind it
// would not fit either. So a pass over thousands of waiting jobs costs only the starts, plus one attempt for each shape.
#pragma once

#include <array>
#include <boost/container/small_vector.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "policy/ordered_jobs.h"
#include "policy/placer.h"
#include "policy/snapshot.h"
#include "policy/spread.h"

namespace sl {

struct Shape {
  int gpus = 1;
  int servers_max = 1;
  Spread spread = Spread::few;
  std::optional<std::int64_t> gpu_memory_bytes;
  ResourceVector demand;
  std::vector<GpuTypeIndex> gpu_types;
  bool needs_containers = false;
  ServerChoice servers_chosen;
  std::vector<Role> roles;    // where members may be apart; on one server they need `demand`
  Allocation frozen_on = {};  // of frozen jobs: other GPUs are of no use to them

  static Shape of(const JobRequest& request, int gpus, Spread spread);
  // Any GPUs will do, and nothing else is asked for.
  bool is_plain() const {
    return gpu_types.empty() && !gpu_memory_bytes && !needs_containers && servers_chosen.is_any() && demand.is_zero() &&
           frozen_on.empty();
  }
  friend bool operator==(const Shape&, const Shape&) = default;
};

// Whether a job that finds no GPUs shows that no other of its shape does, now and when fewer are free.
inline bool speaks_for_its_shape(const JobRequest& request) {
  return request.single_server() || request.demand.is_zero();
}

// Shapes as small integers. They are never forgotten: their number is small.
class Shapes {
 public:
  std::uint32_t intern(const JobRequest& request, int gpus, Spread spread, const Allocation& frozen_on = {}) {
    const bool is_usual = request.takes_any_server() && request.demand.is_zero() && request.single_server() &&
                          gpus >= 0 && std::cmp_less(gpus, usual_.size()) && spread == Spread::few && frozen_on.empty();
    if (!is_usual) return look_up(request, gpus, spread, frozen_on);
    std::optional<std::uint32_t>& shape = usual_[static_cast<std::size_t>(gpus)];
    if (!shape) shape = look_up(request, gpus, spread, frozen_on);
    return *shape;
  }
  // Of a waiting job that would get that many GPUs.
  std::uint32_t intern(const Job& job, int gpus, Spread spread) {
    return is_frozen(job) ? intern(job.request, job.frozen_on->count(), spread, *job.frozen_on)
                          : intern(job.request, gpus, spread);
  }
  const Shape& operator[](std::uint32_t shape) const { return shapes_[shape]; }
  std::size_t size() const { return shapes_.size(); }

 private:
  std::uint32_t look_up(const JobRequest& request, int gpus, Spread spread, const Allocation& frozen_on);

  std::vector<Shape> shapes_;
  boost::unordered_flat_map<std::size_t, std::uint32_t> by_hash_;
  // By number of GPUs, of jobs that ask for nothing else, on one server: nearly all are like that.
  std::array<std::optional<std::uint32_t>, GpuSet::capacity + 1> usual_;
};

template <typename Key>
class WaitingLines {
 public:
  static constexpr std::uint32_t no_line = ~std::uint32_t{0};
  using Line = OrderedJobs<Key>;

  void insert(JobIndex index, const Job& job, int gpus, const Key& key, Spread spread = Spread::few) {
    insert_into(shapes_.intern(job, gpus, spread), index, key);
  }
  // For lines that are not those of shapes. Not to be mixed with insert().
  void insert_into(std::uint32_t line, JobIndex job, const Key& key) {
    while (!line_of_.contains(job)) {
      line_of_.push_back(no_line);
      key_of_.push_back({});
    }
    erase(job);
    if (line >= lines_.size()) lines_.resize(line + 1);
    add(line, job, key);
    line_of_[job] = line;
    key_of_[job] = key;
    ++size_;
  }
  bool erase(JobIndex job) {
    if (!contains(job)) return false;
    take(line_of_[job], job);
    line_of_[job] = no_line;
    --size_;
    return true;
  }
  // Moves the job, if it is here, to the position of `key`.
  void rekey(JobIndex job, const Key& key) {
    if (!contains(job)) return;
    Key& kept = key_of_[job];
    if (!(kept < key) && !(key < kept)) return;
    take(line_of_[job], job);
    add(line_of_[job], job, key);
    kept = key;
  }
  // Moves every job to the position of `new_key(job)`.
  template <typename KeyOf>
  void rekey_all(KeyOf new_key) {
    for (std::uint32_t line = 0; line < lines_.size(); ++line) rekey_line(line, new_key);
  }
  // The same of those of these jobs that are here; `new_key` is the present key of the others.
  template <typename KeyOf>
  void rekey(const std::vector<JobIndex>& some, KeyOf new_key) {
    std::vector<std::uint32_t> count(lines_.size());
    for (const JobIndex job : some) {
      if (contains(job)) ++count[line_of_[job]];
    }
    constexpr std::size_t few = 8;  // moving a job costs as much as giving its place to so many
    const auto is_few = [&](std::uint32_t line) { return count[line] * few < lines_[line].jobs.size(); };
    for (const JobIndex job : some) {
      if (contains(job) && is_few(line_of_[job])) rekey(job, new_key(job));
    }
    for (std::uint32_t line = 0; line < lines_.size(); ++line) {
      if (count[line] > 0 && !is_few(line)) rekey_line(line, new_key);
    }
  }
  // Of a job that is not here.
  std::uint32_t shape_for(const Job& job, int gpus, Spread spread) { return shapes_.intern(job, gpus, spread); }
  bool contains(JobIndex job) const { return line_of_.contains(job) && line_of_[job] != no_line; }
  std::uint32_t shape_of(JobIndex job) const { return line_of_[job]; }  // of one that is here
  void fetch(JobIndex job) const {                                      // prefetches what it takes to remove it
    __builtin_prefetch(&line_of_[job]);
    __builtin_prefetch(&key_of_[job]);
  }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const Shapes& shapes() const { return shapes_; }
  std::uint32_t lines() const { return static_cast<std::uint32_t>(lines_.size()); }
  const Line& operator[](std::uint32_t line) const { return lines_[line].jobs; }
  // Lines whose first job has arrived or left since forget_changes().
  const std::vector<std::uint32_t>& changed() const { return changed_; }
  void forget_changes() {
    for (const std::uint32_t line : changed_) lines_[line].has_changed = false;
    changed_.clear();
  }
  void clear() {
    for (std::uint32_t line = 0; line < lines_.size(); ++line) {
      lines_[line].jobs.clear();
      note_change(line);
    }
    line_of_.clear();
    key_of_.clear();
    size_ = 0;
  }

  // One line, from its first job on; valid as long as the lines do not change.
  struct View {
    typename OrderedJobs<Key>::Iterator at, end;
    std::uint32_t shape;
    bool done() const { return at == end; }
  };
  std::vector<View> views() const {
    std::vector<View> all;
    for (std::uint32_t line = 0; line < lines_.size(); ++line) {
      const Line& jobs = lines_[line].jobs;
      if (!jobs.empty()) all.push_back({jobs.begin(), jobs.end(), line});
    }
    return all;
  }

  // All jobs in order of key; valid as long as the lines do not change. Usage: for (Walk w(lines); !w.done(); …)
  class Walk {
   public:
    explicit Walk(const WaitingLines& lines) : lines_(&lines) {
      for (std::uint32_t line = 0; line < lines.lines(); ++line) {
        if (!lines[line].empty()) cursors_.emplace_back(lines[line], line);
      }
      find_first();
    }
    // Only these lines, none of them empty.
    Walk(const WaitingLines& lines, const std::vector<std::uint32_t>& some) : lines_(&lines) {
      for (const std::uint32_t line : some) cursors_.emplace_back(lines[line], line);
      find_first();
    }
    // Adds this line from here on, unless its first job has been passed. Returns whether it was added.
    bool join(std::uint32_t line) {
      const Cursor cursor((*lines_)[line], line);
      if (!(cursor < cursors_.back())) return false;
      cursors_.insert(is_sorted_ ? place_of(cursor) : cursors_.begin(), cursor);
      return true;
    }
    bool done() const { return cursors_.empty(); }
    JobIndex job() const { return cursors_.back().at->job; }
    const Key& key() const { return cursors_.back().at->key; }
    std::uint32_t shape() const { return static_cast<std::uint32_t>(cursors_.back().line); }
    JobIndex next_in_line() const {  // none: this job is the last of its line
      const Iterator next = std::next(cursors_.back().at);
      return next == Iterator() ? JobIndex::none() : next->job;
    }
    void next() {
      Cursor cursor = cursors_.back();
      cursors_.pop_back();
      if (++cursor.at != Iterator()) cursors_.insert(is_sorted_ ? place_of(cursor) : cursors_.end(), cursor);
      find_next();
    }
    // The rest of this job's line is not visited.
    void close_line() {
      cursors_.pop_back();
      find_next();
    }

   private:
    using Iterator = typename OrderedJobs<Key>::Iterator;
    struct Cursor {
      Cursor(const Line& jobs, std::uint32_t of_line) : at(jobs.begin()), line(of_line) {}
      Iterator at;
      std::uint64_t line;  // as wide as the others: moving half a word splits what is read next
      friend bool operator<(const Cursor& a, const Cursor& b) { return *b.at < *a.at; }  // the next one last
    };
    // The first job is at the end, the others in any order: many walks end at their first job, and for few lines
    // searching costs less than keeping them in order.
    void find_first() {
      if (cursors_.size() > 1) std::iter_swap(std::max_element(cursors_.begin(), cursors_.end()), cursors_.end() - 1);
    }
    void find_next() {
      if (is_sorted_) return;
      if (cursors_.size() <= few) return find_first();
      std::sort(cursors_.begin(), cursors_.end());
      is_sorted_ = true;
    }
    auto place_of(const Cursor& cursor) { return std::upper_bound(cursors_.begin(), cursors_.end(), cursor); }

    static constexpr std::size_t few = 5;  // tiresias on Philly: 2 % less time than with 16
    const WaitingLines* lines_;
    boost::container::small_vector<Cursor, 16> cursors_;
    bool is_sorted_ = false;
  };

 private:
  struct Kept {
    Line jobs;
    bool has_changed = false;  // is in changed_
  };
  template <typename KeyOf>
  void rekey_line(std::uint32_t line, KeyOf new_key) {
    Line& jobs = lines_[line].jobs;
    if (jobs.empty()) return;
    const auto first = *jobs.begin();
    jobs.rekey([&](JobIndex job) { return key_of_[job] = new_key(job); });
    const auto& now = *jobs.begin();
    if (now.job != first.job || now.key < first.key || first.key < now.key) note_change(line);
  }
  void add(std::uint32_t line, JobIndex job, const Key& key) {
    Line& jobs = lines_[line].jobs;
    jobs.insert(job, key);
    if (jobs.begin()->job == job) note_change(line);
  }
  void take(std::uint32_t line, JobIndex job) {
    Line& jobs = lines_[line].jobs;
    if (jobs.begin()->job == job) note_change(line);
    const bool was_there = jobs.erase(job, key_of_[job]);
    SL_CHECK(was_there, "a waiting job is in its line under its key");
  }
  void note_change(std::uint32_t line) {
    if (std::exchange(lines_[line].has_changed, true)) return;
    changed_.push_back(line);
  }

  Shapes shapes_;
  std::vector<Kept> lines_;  // by shape
  std::vector<std::uint32_t> changed_;
  IndexedVector<JobIndex, std::uint32_t> line_of_;  // separate, because it is read for every job that ends
  IndexedVector<JobIndex, Key> key_of_;
  std::size_t size_ = 0;
};

}  // namespace sl
