// Waiting jobs by user, each user's in order of arrival: for policies that share between users. All jobs without a
// known user count as those of one user.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <vector>

#include "policy/policy.h"
#include "policy/waiting_lines.h"

namespace sl {

class UserLines {
 public:
  using Lines = WaitingLines<ArrivalKey>;

  void clear() {
    by_user_.clear();
    user_of_.clear();
  }
  void insert(const Snapshot& snapshot, JobIndex index) {
    const Job& job = snapshot.job(index);
    erase(index);
    by_user_[job.request.user].insert(index, job, job.request.gpus, ArrivalKey::of(job));
    while (!user_of_.contains(index)) user_of_.push_back({});
    user_of_[index] = job.request.user;
  }
  void erase(JobIndex index) {
    if (!user_of_.contains(index) || !user_of_[index]) return;
    by_user_[*user_of_[index]].erase(index);
    user_of_[index].reset();
  }
  bool empty() const {
    for (const auto& [user, lines] : by_user_) {
      if (!lines.empty()) return false;
    }
    return true;
  }
  const std::map<UserIndex, Lines>& by_user() const { return by_user_; }

 private:
  std::map<UserIndex, Lines> by_user_;
  IndexedVector<JobIndex, std::optional<UserIndex>> user_of_;  // the user in whose line a waiting job stands
};

// Users in turn, the most urgent first: `serve(user)` takes the job that the user's walk has reached, moves the walk on
// and changes how urgent the user is; false: it is enough. A User has a `walk` and is less than one that goes first.
template <typename User, typename Serve>
void take_turns(std::vector<User>& users, Serve serve) {
  const auto less = [&](std::uint32_t a, std::uint32_t b) { return users[a] < users[b]; };
  std::vector<std::uint32_t> heap(users.size());
  std::iota(heap.begin(), heap.end(), 0U);
  std::make_heap(heap.begin(), heap.end(), less);
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), less);
    User& user = users[heap.back()];
    if (!serve(user)) return;
    if (user.walk.done()) {
      heap.pop_back();
    } else {
      std::push_heap(heap.begin(), heap.end(), less);
    }
  }
}

// Keeps the lines up to date.
class UserQueuePolicy : public Policy {
 public:
  void attach(const Snapshot& snapshot) override {
    users_.clear();
    for (const JobIndex job : snapshot.waiting) users_.insert(snapshot, job);
  }
  void notice(const Snapshot& snapshot, NoticeKind kind, JobIndex job) override {
    if (kind == NoticeKind::waiting) users_.insert(snapshot, job);
    if (kind == NoticeKind::active || kind == NoticeKind::ended) users_.erase(job);
  }

 protected:
  UserLines users_;
};

}  // namespace sl
