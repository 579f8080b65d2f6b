// The unfinished jobs: a slot for each, found by its id, and lists of those that wait and those that are active. A slot is reused
// after its job has ended, but not before retire(): until then records may refer to it.
#pragma once

#include <array>
#include <boost/unordered/unordered_flat_set.hpp>
#include <utility>
#include <vector>

#include "policy/snapshot.h"
#include "policy/waiting_lines.h"

namespace sl {

class Jobs {
 public:
  Jobs() : by_id_(0, HashOfId{&table_}, SameId{&table_}) {}
  Jobs(const Jobs&) = delete;
  Jobs& operator=(const Jobs&) = delete;

  // ---- slots ----
  void reserve(std::size_t jobs) {
    table_.reserve(jobs);
    position_.reserve(jobs);
  }
  // Adds a new job in a fresh state, in no list. None if its id exists already; then nothing has changed.
  JobIndex add(JobRequest&& request);
  JobIndex add(Job&& job);  // its id must be new
  // The job has ended. Its slot stays readable until retire().
  void end(JobIndex index) { ended_.push_back(index); }
  void retire();

  JobIndex find(JobId job) const;  // none: unknown or retired
  // The job, if this is its current attempt and it has not ended; else null. `guess` saves the look-up.
  Job* find_attempt(JobId job, int attempt, JobIndex* index, JobIndex guess = {});
  bool contains(JobIndex index) const { return table_.contains(index) && table_[index].request.id.valid(); }
  Job& operator[](JobIndex index) { return table_[index]; }
  const Job& operator[](JobIndex index) const { return table_[index]; }
  const JobTable& table() const { return table_; }
  std::size_t size() const { return by_id_.size(); }
  void fetch(JobIndex index) const;  // Core::fetch

  // ---- groups, by their members' numbers: those with members to come, and perhaps others ----
  struct OpenGroup {
    JobId first_member, id;
  };
  std::vector<OpenGroup>& groups() { return groups_; }
  const std::vector<OpenGroup>& groups() const { return groups_; }
  // The group that this member belongs to and has not come up of; none: there is none.
  JobIndex group_of_member_to_come(JobId member) const;

  // ---- lists; a job is in at most one ----
  const std::vector<JobIndex>& waiting() const { return waiting_; }
  const std::vector<JobIndex>& aside() const { return aside_; }  // waiting out of line (core/line_gate.h)
  // Those of them that need no GPU, in the order in which they are served.
  const WaitingLines<ArrivalKey>& aside_without_gpus() const { return aside_without_gpus_; }
  const std::vector<JobIndex>& active() const { return active_; }  // with GPUs
  const std::vector<JobIndex>& active_without_gpus() const { return active_without_gpus_; }
  void enter_queue(JobIndex index) { enter(waiting_, index); }
  void set_aside(JobIndex index) {
    Job& job = table_[index];
    job.set_aside = true;
    if (!job.request.needs_gpus()) aside_without_gpus_.insert(index, job, job.request.gpus_min, ArrivalKey::of(job));
    enter(aside_, index);
  }
  // The priority of one that is set aside may have changed.
  void reorder_aside(JobIndex index) { aside_without_gpus_.rekey(index, ArrivalKey::of(table_[index])); }
  void leave_queue(JobIndex index) {  // or where it was set aside
    const bool was_aside = std::exchange(table_[index].set_aside, false);
    if (was_aside) aside_without_gpus_.erase(index);
    leave(was_aside ? aside_ : waiting_, index);
  }
  void enter_active(JobIndex index) { enter(active_list_of(index), index); }
  void leave_active(JobIndex index) { leave(active_list_of(index), index); }

  // Compares ids and lists with the states of the jobs.
  void check_invariants() const;

 private:
  // The ids are read from the jobs, so that the set stays small enough for a cache.
  struct HashOfId {
    using is_transparent = void;
    const JobTable* jobs;
    std::size_t operator()(JobId id) const { return std::hash<JobId>{}(id); }
    std::size_t operator()(JobIndex index) const { return (*this)((*jobs)[index].request.id); }
  };
  struct SameId {
    using is_transparent = void;
    const JobTable* jobs;
    bool operator()(JobIndex a, JobIndex b) const { return a == b || (*this)((*jobs)[a].request.id, b); }
    bool operator()(JobId id, JobIndex index) const { return id == (*jobs)[index].request.id; }
    bool operator()(JobIndex index, JobId id) const { return id == (*jobs)[index].request.id; }
  };

  std::vector<JobIndex>& active_list_of(JobIndex index) {
    return table_[index].request.needs_gpus() ? active_ : active_without_gpus_;
  }
  JobIndex free_slot(bool needs_gpus);
  void give_back_slot(JobIndex index);
  void enter(std::vector<JobIndex>& list, JobIndex index) {
    position_[index] = static_cast<std::uint32_t>(list.size());
    list.push_back(index);
  }
  void leave(std::vector<JobIndex>& list, JobIndex index) {
    const std::uint32_t at = position_[index];
    list[at] = list.back();
    position_[list[at]] = at;
    list.pop_back();
  }

  JobTable table_;
  boost::unordered_flat_set<JobIndex, HashOfId, SameId> by_id_;
  std::vector<OpenGroup> groups_;
  // Those of jobs without and with GPUs: a policy that still remembers a slot must not find a job there that it does
  // not know.
  std::array<std::vector<JobIndex>, 2> free_slots_;
  std::vector<JobIndex> ended_;
  std::vector<JobIndex> waiting_;
  std::vector<JobIndex> aside_;
  WaitingLines<ArrivalKey> aside_without_gpus_;
  std::vector<JobIndex> active_, active_without_gpus_;
  IndexedVector<JobIndex, std::uint32_t> position_;  // index in its list
};

}  // namespace sl
