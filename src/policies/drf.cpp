#include "policies/drf.h"

#include <algorithm>

#include "policy/placer.h"
#include "policy/user_lines.h"

namespace sl {
namespace {

struct Amounts {
  double gpus = 0;
  ResourceVector resources;
  void add(int count, const ResourceVector& demand) {
    gpus += count;
    resources += demand;
  }
};

double dominant_share(const Amounts& has, const Amounts& all) {
  double share = all.gpus > 0 ? has.gpus / all.gpus : 0;
  for (std::size_t d = 0; d < resource_count; ++d) {
    if (all.resources.amount[d] > 0) share = std::max(share, has.resources.amount[d] / all.resources.amount[d]);
  }
  return share;
}

class Drf : public UserQueuePolicy {
 public:
  void decide(const Snapshot& snapshot, Plan& plan) override {
    if (snapshot.free.total() == 0) return;
    gather(snapshot);
    Trial trial(snapshot.free);
    while (!in_line_.empty() && trial.free().total() > 0) {
      std::pop_heap(in_line_.begin(), in_line_.end());
      User& user = in_line_.back();
      serve(snapshot, user, trial, plan);
      if (user.walk.done()) {
        in_line_.pop_back();
      } else {
        rank(snapshot, user);
        std::push_heap(in_line_.begin(), in_line_.end());
      }
    }
  }

 private:
  struct User {
    UserLines::Lines::Walk walk;
    Amounts has;
    double weight;
    double share = 0;  // dominant, over weight
    Instant submitted;
    JobId id;
    friend bool operator<(const User& a, const User& b) {  // the smallest share on top
      return std::tie(a.share, a.submitted, a.id) > std::tie(b.share, b.submitted, b.id);
    }
  };

  void gather(const Snapshot& snapshot) {
    in_line_.clear();
    all_ = {};
    for (const Server& server : snapshot.servers) {
      if (server.state == ServerState::up) all_.add(server.description.gpus, server.description.capacity);
    }
    std::map<UserIndex, Amounts> has;
    for (const JobIndex index : snapshot.active) {
      const Job& job = snapshot.job(index);
      has[job.request.user].add(job.allocation.count(), job.request.demand);
    }
    for (const auto& [user, lines] : users_.by_user()) {
      if (lines.empty()) continue;
      const UserLines::Lines::Walk walk(lines);
      in_line_.push_back({walk, has[user], std::max(1e-9, snapshot.job(walk.job()).request.user_weight)});
      rank(snapshot, in_line_.back());
    }
    std::make_heap(in_line_.begin(), in_line_.end());
  }

  void rank(const Snapshot& snapshot, User& user) const {
    user.share = dominant_share(user.has, all_) / user.weight;
    user.submitted = snapshot.job(user.walk.job()).request.submitted;
    user.id = snapshot.job(user.walk.job()).request.id;
  }

  static void serve(const Snapshot& snapshot, User& user, Trial& trial, Plan& plan) {
    const JobIndex index = user.walk.job();
    const JobRequest& request = snapshot.job(index).request;
    auto gpus = place(trial.free(), snapshot.servers, request, request.gpus);
    if (!gpus) return user.walk.close_line();
    trial.take(*gpus, request.demand);
    plan.start(index, std::move(*gpus));
    user.has.add(request.gpus, request.demand);
    user.walk.next();
  }

  std::vector<User> in_line_;  // a heap
  Amounts all_;
};

}  // namespace

PolicyEntry drf_entry() {
  PolicyInfo info;
  info.name = "drf";
  info.title = "Dominant Resource Fairness";
  info.summary = "The user who has least of the resource it has most of (GPUs, CPUs, memory) is served next.";
  info.good_for = "users whose jobs need different resources";
  info.weak_for = "looking back: what was used before counts nothing";
  info.needs = {{Fact::none, "all jobs count as of one user", "users"}, {Fact::demand, "GPUs alone count"}};
  info.aliases = {"dominant_resource_fairness"};
  info.work_conserving = true;
  return {std::move(info), [](const Parameters&) -> std::unique_ptr<Policy> { return std::make_unique<Drf>(); }};
}

}  // namespace sl
