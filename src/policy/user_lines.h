// Waiting jobs by user, each user's in order of arrival: for policies that share between users. All jobs without a
// known user count as those of one user.
#pragma once

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <vector>

#include "policy/placer.h"
#include "policy/policy.h"
#include "policy/waiting_lines.h"

namespace sl {

class UserLines {
 public:
  using Lines = WaitingLines<ArrivalKey>;
  struct Jobs {  // of one user
    OrderedJobs<ArrivalKey> in_order;
    Lines lines;                        // the same, one line for each shape that the user has had
    std::vector<std::uint32_t> shapes;  // by line
    boost::unordered_flat_map<std::uint32_t, std::uint32_t> line_of;  // by shape
  };

  void clear() {
    waiting_.clear();
    by_user_.clear();
    place_of_.clear();
  }
  void insert(const Snapshot& snapshot, JobIndex index) {
    const Job& job = snapshot.job(index);
    const Place place{job.request.user, ArrivalKey::of(job)};
    erase(index);
    Jobs& jobs = by_user_[place.user];
    const std::uint32_t shape = shapes_.intern(job, job.request.gpus, Spread::few);
    const auto [line, is_new] = jobs.line_of.try_emplace(shape, static_cast<std::uint32_t>(jobs.shapes.size()));
    if (is_new) jobs.shapes.push_back(shape);
    jobs.lines.insert_into(line->second, index, place.key);
    jobs.in_order.insert(index, place.key);
    waiting_.insert(place.user);
    while (!place_of_.contains(index)) place_of_.push_back({});
    place_of_[index] = place;
  }
  void erase(JobIndex index) {
    if (!place_of_.contains(index) || !place_of_[index]) return;
    Jobs& jobs = by_user_[place_of_[index]->user];
    jobs.lines.erase(index);
    jobs.in_order.erase(index, place_of_[index]->key);
    if (jobs.in_order.empty()) waiting_.erase(place_of_[index]->user);
    place_of_[index].reset();
  }
  const std::set<UserIndex>& waiting() const { return waiting_; }  // users with jobs in line
  const Jobs& of(UserIndex user) const { return by_user_.at(user); }
  std::size_t shapes() const { return shapes_.size(); }

 private:
  struct Place {  // of a waiting job
    UserIndex user;
    ArrivalKey key;
  };
  Shapes shapes_;
  std::map<UserIndex, Jobs> by_user_;
  std::set<UserIndex> waiting_;
  IndexedVector<JobIndex, std::optional<Place>> place_of_;
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

// Keeps the lines up to date, and knows in a decision which shapes no longer fit: free GPUs only become fewer, so what
// did not fit one user's job fits nobody's.
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
  using Walk = UserLines::Lines::Walk;

  // Called first in a decision.
  void begin_placing() { fit_.assign(users_.shapes(), Fits::unknown); }
  // The user's jobs, without those that do not fit.
  Walk that_fit(const Snapshot& snapshot, const UserLines::Jobs& jobs) {
    open_.clear();
    for (std::uint32_t line = 0; line < jobs.lines.lines(); ++line) {
      Fits& fits = fit_[jobs.shapes[line]];
      if (fits == Fits::no || jobs.lines[line].empty()) continue;
      if (fits == Fits::unknown)
        fits = find(snapshot, snapshot.free, jobs.lines[line].begin()->job) ? Fits::yes : Fits::no;
      if (fits == Fits::yes) open_.push_back(line);
    }
    return Walk(jobs.lines, open_);
  }
  // Starts the job that the walk has reached, or closes its line; moves on.
  bool start_next(const Snapshot& snapshot, const UserLines::Jobs& jobs, Walk& walk, Trial& trial, Plan& plan) {
    Fits& fits = fit_[jobs.shapes[walk.shape()]];
    const JobIndex index = walk.job();
    auto gpus = fits == Fits::no ? std::nullopt : find(snapshot, trial.free(), index);
    if (!gpus) {
      fits = Fits::no;
      walk.close_line();
      return false;
    }
    trial.take(*gpus, snapshot.job(index).request);
    plan.start(index, std::move(*gpus));
    walk.next();
    return true;
  }

  UserLines users_;

 private:
  enum class Fits : std::uint8_t { unknown, no, yes };
  static std::optional<Allocation> find(const Snapshot& snapshot, const FreeGpus& free, JobIndex index) {
    const Job& job = snapshot.job(index);
    return place(free, snapshot.servers, job, job.request.gpus);
  }

  std::vector<Fits> fit_;            // by shape
  std::vector<std::uint32_t> open_;  // lines
};

}  // namespace sl
