#include "policies/fair/max_min.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "base/text.h"
#include "policies/fair/fair_jobs.h"
#include "policy/job_set.h"
#include "policy/placer.h"

namespace sl {

namespace {

constexpr const char* rounds_version = "max_min-1";

class MaxMin : public Policy {
 public:
  explicit MaxMin(Duration round) : round_(round) {}

  void attach(const Snapshot& snapshot) override { jobs_.attach(snapshot); }
  void notice(const Snapshot& snapshot, NoticeKind kind, JobIndex job) override { jobs_.notice(snapshot, kind, job); }

  void decide(const Snapshot& snapshot, Plan& plan) override {
    const std::int64_t round = index_of_round(snapshot.now);
    const std::string mark = std::string(rounds_version) + ' ' + std::to_string(round);
    const bool due = snapshot.memory.blob != mark;
    if (due) plan.remember(mark);
    jobs_.refresh(snapshot);
    if (snapshot.waiting.empty() && jobs_.types() < 2) return;  // no job wants another place
    if (due || snapshot.free.total() > 0) {
      jobs_.work_out_fractions();
      started_.clear();
      Trial trial(snapshot.free);
      if (due) divide(snapshot, trial, plan);
      start_waiting(snapshot, trial, plan);
    }
    if (!snapshot.active.empty() || !plan.decisions().empty()) plan.wake_at(Instant{(round + 1) * round_.us});
  }

  std::vector<JobIndex> queue_order(const View& view) const override {
    FairJobs jobs = read(view);
    std::vector<JobIndex> order;
    std::set<JobIndex> seen;
    for (Line line(jobs, view, true); !line.done(); line.next()) {
      if (seen.insert(line.entry().job).second) order.push_back(line.entry().job);
    }
    return order;
  }

  std::string standing(const View& view, JobIndex index) const override {
    double due = 0;
    read(view).for_each_entry(view, index, [&](const Entry& entry) { due += entry.x; });
    const Job& job = view.job(index);
    const double life_s = (view.now - job.request.submitted).to_seconds();
    const double had = life_s > 0 ? job.run_at(view.now).to_seconds() / life_s : 0;
    return "due GPUs for " + percent_text(std::min(1.0, due)) + " of the time, has had them for " + percent_text(had);
  }

 private:
  using Entry = FairJobs::Entry;
  using Line = FairJobs::Line;

  std::int64_t index_of_round(Instant now) const {
    return now.us >= 0 ? now.us / round_.us : -((-now.us + round_.us - 1) / round_.us);
  }

  static FairJobs read(const View& view) {
    FairJobs jobs;
    jobs.attach(view);
    jobs.work_out_fractions();
    return jobs;
  }

  // ---- who gets what ----

  static bool may_stop(const Snapshot& snapshot, const Job& job) {
    return all_usable(snapshot, job.allocation) && job.state == JobState::running && job.request.preemptible &&
           job.request.capability == Capability::checkpoint;
  }

  // A new round: the first jobs in order that fit by count. Running jobs that are not among them are preempted; those
  // that are due on another type move there.
  void divide(const Snapshot& snapshot, Trial& trial, Plan& plan) {
    const std::vector<Entry> chosen = choose(snapshot, trial.free());
    stay_.clear();
    std::vector<Entry> placed;  // jobs to start or move, in order
    for (const Entry& entry : chosen) {
      const Job& job = snapshot.job(entry.job);
      stay_.insert(entry.job);
      if (job.is_waiting() || !is_on(snapshot, job, entry.type)) placed.push_back(entry);
    }
    std::vector<Entry> stopped;
    for (const JobIndex job : snapshot.active) {
      if (!stay_.contains(job) && may_stop(snapshot, snapshot.job(job)))
        jobs_.for_each_entry(snapshot, job, [&](const Entry& entry) { stopped.push_back(entry); });
    }
    std::sort(stopped.begin(), stopped.end());
    std::vector<JobIndex> leaving;
    for (const Entry& entry : stopped) {
      if (stay_.insert(entry.job)) leaving.push_back(entry.job);
    }
    carry_out(snapshot, placed, leaving, trial, plan);
  }

  std::vector<Entry> choose(const Snapshot& snapshot, const FreeGpus& free) {
    std::vector<int> left(jobs_.types(), 0);
    const auto count = [&](ServerIndex server, int gpus) {
      const std::size_t type = jobs_.column_of(snapshot.servers[server].description.gpu_type);
      if (type < left.size()) left[type] += gpus;
    };
    for (std::uint32_t s = 0; s < free.servers(); ++s) {
      if (free.is_open(ServerIndex(s))) count(ServerIndex(s), free.count(ServerIndex(s)));
    }
    for (const JobIndex job : snapshot.active) {
      if (!may_stop(snapshot, snapshot.job(job))) continue;
      for (const ServerGpus& part : snapshot.job(job).allocation.parts()) count(part.server, part.gpus.count());
    }
    std::vector<Entry> chosen;
    chosen_.clear();
    for (Line line(jobs_, snapshot, false); !line.done();) {
      const Entry& entry = line.entry();
      const Job& job = snapshot.job(entry.job);
      if (chosen_.contains(entry.job) || (!job.is_waiting() && !may_stop(snapshot, job))) {
        line.next();
      } else if (take(left, entry.type, job.is_waiting() ? job.request.gpus : job.allocation.count())) {
        chosen.push_back(entry);
        chosen_.insert(entry.job);
        line.next();
      } else {
        line.close();  // all of its class are as wide, and what is left only becomes less
      }
    }
    return chosen;
  }
  static bool take(std::vector<int>& left, std::uint32_t type, int gpus) {
    if (type != FairJobs::any_type) {
      if (left[type] < gpus) return false;
      left[type] -= gpus;
      return true;
    }
    if (std::accumulate(left.begin(), left.end(), 0) < gpus) return false;
    for (int& here : left) {
      const int taken = std::min(here, gpus);
      here -= taken;
      gpus -= taken;
    }
    return true;
  }

  void carry_out(const Snapshot& snapshot, const std::vector<Entry>& placed, const std::vector<JobIndex>& stopped,
                 Trial& trial, Plan& plan) {
    std::vector<JobIndex> leaving = stopped;
    for (const Entry& entry : placed) {
      if (!snapshot.job(entry.job).is_waiting()) leaving.push_back(entry.job);
    }
    for (const JobIndex job : leaving) trial.give(coming(snapshot, trial, job), snapshot.job(job).request);
    std::vector<JobIndex> staying = stopped;
    std::vector<Move> moves;
    for (const Entry& entry : placed) {
      if (snapshot.job(entry.job).is_waiting()) {
        start(snapshot, entry, trial, plan);
      } else if (auto gpus = place_move(snapshot, entry, trial)) {
        moves.push_back({entry.job, std::move(*gpus)});
      } else {
        staying.push_back(entry.job);
      }
    }
    for (const JobIndex job : staying) {  // in order: a job gets back its GPUs if no other job took them
      if (!takes_back(trial, snapshot.job(job))) plan.preempt(job);
    }
    move(snapshot, std::move(moves), plan);
  }

  struct Move {
    JobIndex job;
    Allocation to;
  };
  // A job can move only to GPUs that are free or being released, so jobs that others wait for move first. If jobs wait
  // for one another in a cycle, the first in order is preempted instead; it starts on its type as soon as that is free.
  static void move(const Snapshot& snapshot, std::vector<Move> moves, Plan& plan) {
    while (!moves.empty()) {
      const auto must_wait = [&](const Move& move) {
        return std::any_of(moves.begin(), moves.end(), [&](const Move& other) {
          return other.job != move.job && overlap(move.to, snapshot.job(other.job).allocation);
        });
      };
      const auto next = std::find_if_not(moves.begin(), moves.end(), must_wait);
      if (next == moves.end()) {
        plan.preempt(moves.front().job);
        moves.erase(moves.begin());
      } else {
        plan.migrate(next->job, std::move(next->to));
        moves.erase(next);
      }
    }
  }
  static bool overlap(const Allocation& a, const Allocation& b) {
    return std::any_of(a.parts().begin(), a.parts().end(),
                       [&](const ServerGpus& part) { return !(part.gpus & b.on(part.server)).empty(); });
  }

  bool is_on(const Snapshot& snapshot, const Job& job, std::uint32_t type) const {
    return type == FairJobs::any_type ||
           std::all_of(job.allocation.parts().begin(), job.allocation.parts().end(), [&](const ServerGpus& part) {
             return jobs_.column_of(snapshot.servers[part.server].description.gpu_type) == type;
           });
  }

  static Allocation coming(const Snapshot& snapshot, const Trial& trial, JobIndex job) {
    return difference(snapshot.job(job).allocation, free_part(trial, snapshot.job(job).allocation));
  }
  static Allocation free_part(const Trial& trial, const Allocation& gpus) {
    Allocation part;
    for (const ServerGpus& on : gpus.parts()) {
      if (const GpuSet free = on.gpus & trial.free().on(on.server); !free.empty()) part.add(on.server, free);
    }
    return part;
  }
  static bool takes_back(Trial& trial, const Job& job) {
    if (free_part(trial, job.allocation) != job.allocation) return false;
    if (!trial.free().fits(job.allocation, job.request)) return false;
    trial.take(job.allocation, job.request);
    return true;
  }

  bool start(const Snapshot& snapshot, const Entry& entry, Trial& trial, Plan& plan) {
    const Job& job = snapshot.job(entry.job);
    auto gpus = place_on_type(snapshot, job, entry.type, job.request.gpus, trial.free());
    if (!gpus) return false;
    trial.take(*gpus, job.request);
    plan.start(entry.job, std::move(*gpus));
    started_.insert(entry.job);
    return true;
  }

  std::optional<Allocation> place_move(const Snapshot& snapshot, const Entry& entry, Trial& trial) const {
    const Job& job = snapshot.job(entry.job);
    if (!job.request.migratable) return std::nullopt;
    auto gpus = place_on_type(snapshot, job, entry.type, job.allocation.count(), trial.free());
    if (gpus) trial.take(*gpus, job.request);
    return gpus;
  }

  std::optional<Allocation> place_on_type(const Snapshot& snapshot, const Job& job, std::uint32_t type, int gpus,
                                          const FreeGpus& free) const {
    if (jobs_.types() == 1 || type == FairJobs::any_type || is_frozen(job))
      return place(free, snapshot.servers, job, gpus);
    JobRequest of_type = job.request;
    of_type.gpu_types = {jobs_.type_at(type)};
    return place(free, snapshot.servers, of_type, gpus);
  }

  // A job that does not fit closes its class on that type: free GPUs only become fewer.
  void start_waiting(const Snapshot& snapshot, Trial& trial, Plan& plan) {
    std::set<std::pair<std::uint32_t, std::uint32_t>> closed;
    for (Line line(jobs_, snapshot, true); !line.done() && trial.free().total() > 0;) {
      const Entry entry = line.entry();
      const bool plain = FairJobs::is_plain(snapshot.job(entry.job));
      const std::pair here{entry.of_class, entry.type};
      const bool is_closed = plain && closed.contains(here);
      if (!is_closed && (started_.contains(entry.job) || start(snapshot, entry, trial, plan) || !plain)) {
        line.next();
      } else {
        closed.insert(here);
        line.close();
      }
    }
    if (jobs_.types() > 1) start_on_any_type(snapshot, trial, plan);
  }

  // Starts jobs for which there is room on several types together, or on a type they are not due on.
  void start_on_any_type(const Snapshot& snapshot, Trial& trial, Plan& plan) {
    std::set<std::uint32_t> closed;
    for (Line line(jobs_, snapshot, true); !line.done() && trial.free().total() > 0;) {
      Entry entry = line.entry();
      entry.type = FairJobs::any_type;
      const bool plain = FairJobs::is_plain(snapshot.job(entry.job));
      const bool is_closed = plain && closed.contains(entry.of_class);
      if (!is_closed && (started_.contains(entry.job) || start(snapshot, entry, trial, plan) || !plain)) {
        line.next();
      } else {
        closed.insert(entry.of_class);
        line.close();
      }
    }
  }

  Duration round_;
  FairJobs jobs_;
  JobSet chosen_, stay_;  // of this division
  JobSet started_;        // by this plan
};

}  // namespace

PolicyEntry max_min_entry() {
  PolicyInfo info;
  info.name = "max_min";
  info.title = "Max-Min Fairness";
  info.summary =
      "Divides time on each type of GPU so that the job with the least, against an equal share, has as much as "
      "possible; in rounds.";
  info.good_for = "GPUs of several types; equal treatment of all jobs";
  info.weak_for = "mean completion time; jobs that are costly to interrupt";
  info.placement = "the GPU type on which its share of time is largest";
  info.needs = {
      checkpoint_or_left_alone(),
      {Fact::none, "all types count as equally fast", "speeds on each GPU type, reported by jobs or from a profile"}};
  info.aliases = {"gavel", "max_min_fairness"};
  info.preemptive = true;
  info.work_conserving = true;
  info.parameters = {
      {"round_s", ParameterType::number, "s", "360", 1, 86400, {}, "how long a division of the GPUs holds"}};
  return {std::move(info), [](const Parameters& given) -> std::unique_ptr<Policy> {
            return std::make_unique<MaxMin>(Duration::seconds(given.number("round_s")));
          }};
}

}  // namespace sl
