#include "policies/fair/drf.h"

#include <algorithm>

#include "base/text.h"
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
    begin_placing();
    gather(snapshot);
    Trial trial(snapshot.free);
    take_turns(in_line_, [&](User& user) {
      if (trial.free().total() == 0) return false;
      serve(snapshot, user, trial, plan);
      rank(snapshot, user);
      return true;
    });
  }

  std::string standing(const View& view, JobIndex index) const override {
    const UserIndex user = view.job(index).request.user;
    const double share = dominant_share(held_by_user(view)[user], all_of(view));
    return "its user holds " + percent_text(share) + " of the resource it holds most of";
  }

 private:
  struct User {
    const UserLines::Jobs* jobs;
    Walk walk;
    Amounts has;
    double weight;
    double share = 0;  // dominant share divided by weight
    Instant submitted;
    JobId id;
    friend bool operator<(const User& a, const User& b) {  // b goes first
      return std::tie(a.share, a.submitted, a.id) > std::tie(b.share, b.submitted, b.id);
    }
  };

  static Amounts all_of(const View& view) {
    Amounts all;
    for (const Server& server : view.servers) {
      if (server.state == ServerState::up) all.add(server.description.gpus, server.description.capacity);
    }
    return all;
  }
  static std::map<UserIndex, Amounts> held_by_user(const View& view) {
    std::map<UserIndex, Amounts> has;
    for (const JobIndex index : view.active) {
      const Job& job = view.job(index);
      has[job.request.user].add(job.allocation.count(), job.request.demand);
    }
    return has;
  }

  void gather(const Snapshot& snapshot) {
    in_line_.clear();
    all_ = all_of(snapshot);
    std::map<UserIndex, Amounts> has = held_by_user(snapshot);
    for (const UserIndex user : users_.waiting()) {
      const UserLines::Jobs& jobs = users_.of(user);
      Walk walk = that_fit(snapshot, jobs);
      if (walk.done()) continue;
      const double weight = snapshot.job(jobs.in_order.begin()->job).request.user_weight;
      in_line_.push_back({&jobs, std::move(walk), has[user], std::max(1e-9, weight)});
      rank(snapshot, in_line_.back());
    }
  }

  void rank(const Snapshot& snapshot, User& user) const {
    if (user.walk.done()) return;
    user.share = dominant_share(user.has, all_) / user.weight;
    user.submitted = snapshot.job(user.walk.job()).request.submitted;
    user.id = snapshot.job(user.walk.job()).request.id;
  }

  void serve(const Snapshot& snapshot, User& user, Trial& trial, Plan& plan) {
    const JobRequest& request = snapshot.job(user.walk.job()).request;
    if (start_next(snapshot, *user.jobs, user.walk, trial, plan)) user.has.add(request.gpus, request.demand);
  }

  std::vector<User> in_line_;
  Amounts all_;
};

}  // namespace

PolicyEntry drf_entry() {
  PolicyInfo info;
  info.name = "drf";
  info.title = "Dominant Resource Fairness";
  info.summary =
      "The user with the smallest share of the resource it holds most of (GPUs, CPUs, memory) is served next.";
  info.good_for = "users whose jobs need different resources";
  info.weak_for = "looking back: earlier use does not count";
  info.needs = {{Fact::none, "all jobs count as one user's", "users"}, {Fact::demand, "only GPUs count"}};
  info.aliases = {"dominant_resource_fairness"};
  info.work_conserving = true;
  return {std::move(info), [](const Parameters&) -> std::unique_ptr<Policy> { return std::make_unique<Drf>(); }};
}

}  // namespace sl
