#include "policies/fair/fair_share.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "policy/usage.h"
#include "policy/user_lines.h"

namespace sl {

double fair_share_factor(double usage, double usage_of_all, double weight, double weight_of_all) {
  if (usage <= 0 || usage_of_all <= 0 || weight <= 0) return usage <= 0 ? 1 : 0;
  return std::exp2(-(usage / usage_of_all) / (weight / weight_of_all));
}

namespace {

struct FairShareSettings {
  Duration half_life = Duration::whole_seconds(7 * 86400);
  Duration age_max = Duration::whole_seconds(7 * 86400);
  double weight_fairshare = 1000, weight_age = 100, weight_priority = 1000;
};

class FairShare : public UserQueuePolicy {
 public:
  explicit FairShare(const FairShareSettings& settings) : settings_(settings), usage_(settings.half_life) {}

  void attach(const Snapshot& snapshot) override {
    UserQueuePolicy::attach(snapshot);
    usage_.reset();
    for (const JobIndex job : snapshot.waiting) usage_.enters(snapshot, job);
  }

  void notice(const Snapshot& snapshot, NoticeKind kind, JobIndex job) override {
    UserQueuePolicy::notice(snapshot, kind, job);
    if (kind == NoticeKind::waiting) usage_.enters(snapshot, job);
    if (kind == NoticeKind::active || kind == NoticeKind::ended) usage_.leaves(job);
  }

  void decide(const Snapshot& snapshot, Plan& plan) override {
    if (snapshot.free.total() == 0) return;
    usage_.learn(snapshot);
    begin_placing();
    gather(snapshot, [&](const UserLines::Jobs& jobs) { return that_fit(snapshot, jobs); });
    Trial trial(snapshot.free);
    take_turns(users_in_line_, [&](User& user) {
      if (trial.free().total() == 0) return false;
      start_next(snapshot, *user.jobs, user.walk, trial, plan);
      rank(snapshot, user);
      return true;
    });
  }

  std::vector<JobIndex> queue_order(const View& view) const override {
    FairShare copy(*this);  // a query: what it gathers is thrown away
    copy.usage_.learn(view);
    copy.gather(view, all_jobs);
    std::vector<JobIndex> order;
    take_turns(copy.users_in_line_, [&](User& user) {
      order.push_back(user.walk.job());
      user.walk.next();
      copy.rank(view, user);
      return true;
    });
    return order;
  }

  std::string standing(const View& view, JobIndex index) const override {
    if (!view.job(index).is_waiting()) return {};
    FairShare copy(*this);
    copy.usage_.learn(view);
    copy.gather(view, all_jobs);
    for (const User& user : copy.users_in_line_) {
      if (view.job(user.walk.job()).request.user != view.job(index).request.user) continue;
      return "the fair-share factor of its user is " + percent_text(user.factor);
    }
    return {};
  }

 private:
  struct User {
    const UserLines::Jobs* jobs;
    Walk walk;
    double factor;
    double priority = 0;  // of the job the walk has reached
    Instant submitted;
    JobId id;
    friend bool operator<(const User& a, const User& b) {  // b goes first
      if (a.priority != b.priority) return a.priority < b.priority;
      return std::tie(a.submitted, a.id) > std::tie(b.submitted, b.id);
    }
  };

  static Walk all_jobs(const UserLines::Jobs& jobs) { return Walk(jobs.lines); }

  // `walk_of(jobs)` goes through those of a user's jobs that count.
  template <typename WalkOf>
  void gather(const View& view, WalkOf walk_of) {
    users_in_line_.clear();
    highest_ = 1;
    double weight_of_all = static_cast<double>(usage_.users());  // 1 of each who waits for nothing
    for (const UserIndex user : users_.waiting()) {
      const JobRequest& head = view.job(users_.of(user).in_order.begin()->job).request;
      weight_of_all += head.user_weight - (usage_.has_any(user) ? 1 : 0);
      highest_ = std::max(highest_, head.priority);
    }
    for (const UserIndex user : users_.waiting()) {
      const UserLines::Jobs& jobs = users_.of(user);
      Walk walk = walk_of(jobs);
      if (walk.done()) continue;
      const double weight = view.job(jobs.in_order.begin()->job).request.user_weight;
      const double factor = fair_share_factor(usage_.of(user), usage_.of_all(), weight, weight_of_all);
      users_in_line_.push_back({&jobs, std::move(walk), factor});
      rank(view, users_in_line_.back());
    }
  }

  void rank(const View& view, User& user) const {
    if (user.walk.done()) return;
    const JobRequest& request = view.job(user.walk.job()).request;
    const double waited = (view.now - request.submitted).to_seconds() / settings_.age_max.to_seconds();
    user.priority = settings_.weight_fairshare * user.factor + settings_.weight_age * std::clamp(waited, 0.0, 1.0) +
                    settings_.weight_priority * request.priority / highest_;
    user.submitted = request.submitted;
    user.id = request.id;
  }

  FairShareSettings settings_;
  Usage usage_;
  std::vector<User> users_in_line_;
  int highest_ = 1;  // the highest priority that waits
};

ParameterInfo weight_parameter(const char* name, const char* value, const char* help) {
  return {name, ParameterType::number, "", value, 0, 1e9, {}, help};
}

}  // namespace

PolicyEntry fair_share_entry() {
  PolicyInfo info;
  info.name = "fair_share";
  info.title = "Fair Share";
  info.summary = "Jobs of users who have used little GPU time recently go first; use long ago is forgotten.";
  info.good_for = "several users or groups on one cluster over weeks";
  info.weak_for = "wide jobs, which others pass; short bursts of one user";
  info.needs = {{Fact::none, "all jobs count as one user's", "users"}};
  info.aliases = {"multifactor"};
  info.work_conserving = true;
  info.parameters = {
      {"half_life_h", ParameterType::number, "h", "168", 0.01, 1e6, {}, "time after which use counts half"},
      {"age_max_h", ParameterType::number, "h", "168", 0.01, 1e6, {}, "waiting longer than this adds no more priority"},
      weight_parameter("weight_fairshare", "1000", "weight of the fair-share factor (0 to 1)"),
      weight_parameter("weight_age", "100", "weight of the waiting time (0 to 1)"),
      weight_parameter("weight_priority", "1000", "weight of a job's own priority, relative to the highest"),
  };
  return {std::move(info), [](const Parameters& given) -> std::unique_ptr<Policy> {
            FairShareSettings settings;
            settings.half_life = Duration::seconds(given.number("half_life_h") * 3600);
            settings.age_max = Duration::seconds(given.number("age_max_h") * 3600);
            settings.weight_fairshare = given.number("weight_fairshare");
            settings.weight_age = given.number("weight_age");
            settings.weight_priority = given.number("weight_priority");
            return std::make_unique<FairShare>(settings);
          }};
}

}  // namespace sl
