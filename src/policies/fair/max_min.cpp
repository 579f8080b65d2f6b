#include "policies/fair/max_min.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "base/text.h"
#include "policies/fair/max_min_fractions.h"
#include "policy/placer.h"

namespace sl {

namespace {

constexpr const char* rounds_version = "max_min-1";
constexpr std::size_t classes_max = 96;  // keeps the program small; jobs beyond the limit count as equally fast on all
                                         // types

struct Mean {
  double sum = 0, count = 0;
  void add(double value) {
    sum += value;
    ++count;
  }
  double value() const { return count > 0 ? sum / count : 0; }
};

class MaxMin : public Policy {
 public:
  explicit MaxMin(Duration round) : round_(round) {}
  void attach(const Snapshot&) override {}
  void notice(const Snapshot&, NoticeKind, JobIndex) override {}

  void decide(const Snapshot& snapshot, Plan& plan) override {
    const std::int64_t round = index_of_round(snapshot.now);
    const std::string mark = std::string(rounds_version) + ' ' + std::to_string(round);
    const bool due = snapshot.memory.blob != mark;
    if (due) plan.remember(mark);
    find_types(snapshot);
    if (snapshot.waiting.empty() && types_.size() < 2) return;  // no job wants another place
    if (due || snapshot.free.total() > 0) {
      rank(snapshot);
      Trial trial(snapshot.free);
      if (due) divide(snapshot, trial, plan);
      start_waiting(snapshot, trial, plan);
    }
    if (!snapshot.active.empty()) plan.wake_at(Instant{(round + 1) * round_.us});
  }

  std::vector<JobIndex> queue_order(const View& view) const override {
    MaxMin copy(*this);
    copy.find_types(view);
    copy.rank(view);
    std::vector<JobIndex> order;
    std::set<JobIndex> seen;
    for (const Entry& entry : copy.entries_) {
      if (view.job(entry.job).is_waiting() && seen.insert(entry.job).second) order.push_back(entry.job);
    }
    return order;
  }

  std::string standing(const View& view, JobIndex index) const override {
    MaxMin copy(*this);
    copy.find_types(view);
    copy.rank(view);
    double due = 0;
    for (const Entry& entry : copy.entries_) due += entry.job == index ? entry.x : 0;
    const Job& job = view.job(index);
    const double life_s = (view.now - job.request.submitted).to_seconds();
    const double had = life_s > 0 ? job.run_at(view.now).to_seconds() / life_s : 0;
    return "due GPUs for " + percent_text(std::min(1.0, due)) + " of the time, has had them for " + percent_text(had);
  }

 private:
  // What a job is due on one type of GPU.
  struct Entry {
    JobIndex job;
    std::size_t of_class, type;  // type: a column of fractions_, or any_type
    double x = 0, priority = 0, missed = 0;
  };
  using ClassKey =
      std::tuple<int, double, int, std::vector<GpuTypeIndex>, std::int64_t, bool, ServerChoice, std::vector<int>>;
  static constexpr std::size_t any_type = std::numeric_limits<std::size_t>::max();  // for jobs wider than any one type

  std::int64_t index_of_round(Instant now) const {
    return now.us >= 0 ? now.us / round_.us : -((-now.us + round_.us - 1) / round_.us);
  }

  // ---- what each job is due ----

  void find_types(const View& view) {
    types_.clear();
    type_at_.clear();
    gpus_by_type_.clear();
    for (const Server& server : view.servers) {
      if (server.state != ServerState::up || server.description.gpus == 0) continue;
      const auto [at, is_new] = types_.try_emplace(server.description.gpu_type, types_.size());
      if (is_new) {
        gpus_by_type_.push_back(0);
        type_at_.push_back(server.description.gpu_type);
      }
      gpus_by_type_[at->second] += (server.all() - server.outside - server.unavailable).count();
    }
  }

  // Speed by type, in hundredths of the fastest: as the job reported it, else from its profile; a type of unknown speed
  // counts as the mean of the others.
  std::vector<int> speeds_of(const Job& job) const {
    std::vector<Mean> speeds = reported_speeds(job);
    const std::vector<Mean> stated = stated_speeds(job);
    Mean scale;  // factor from the profile's relative speeds to steps per second
    for (std::size_t j = 0; j < speeds.size(); ++j) {
      if (speeds[j].count > 0 && stated[j].count > 0) scale.add(speeds[j].value() / stated[j].value());
    }
    const bool nothing_reported = std::all_of(speeds.begin(), speeds.end(), [](const Mean& m) { return m.count == 0; });
    if (nothing_reported) scale.add(1);
    Mean all;
    double fastest = 0;
    for (std::size_t j = 0; j < speeds.size(); ++j) {
      if (speeds[j].count == 0 && stated[j].count > 0 && scale.count > 0)
        speeds[j].add(stated[j].value() * scale.value());
      if (speeds[j].count == 0) continue;
      all.add(speeds[j].value());
      fastest = std::max(fastest, speeds[j].value());
    }
    std::vector<int> hundredths(speeds.size(), 100);
    for (std::size_t j = 0; j < speeds.size() && fastest > 0; ++j) {
      const double speed = speeds[j].count > 0 ? speeds[j].value() : all.value();
      hundredths[j] = std::max(1, static_cast<int>(speed / fastest * 100 + 0.5));
    }
    return hundredths;
  }

  std::vector<Mean> reported_speeds(const Job& job) const {
    std::vector<Mean> speeds(types_.size());
    if (!job.telemetry) return speeds;
    for (const SpeedSample& sample : job.telemetry->speeds) {
      const auto at = types_.find(sample.gpu_type);
      if (at != types_.end() && !sample.neighbour.valid() && sample.steps_per_s > 0)
        speeds[at->second].add(sample.steps_per_s / sample.workers);
    }
    return speeds;
  }
  std::vector<Mean> stated_speeds(const Job& job) const {
    std::vector<Mean> speeds(types_.size());
    if (!job.request.model) return speeds;
    for (const GpuTypeSpeed& stated : job.request.model->speed_by_gpu_type) {
      const auto at = types_.find(stated.gpu_type);
      const double speed = stated.on_one_gpu * stated.curve.speed_on(job.request.gpus) / job.request.gpus;
      if (at != types_.end() && speed > 0) speeds[at->second].add(speed);
    }
    return speeds;
  }

  FairClass make_class(const View& view, const Job& job, const std::vector<int>& speeds) const {
    FairClass made{0, static_cast<double>(job.request.gpus), std::max(1e-6, job.request.user_weight), {}};
    made.speed.assign(types_.size(), 0);
    for (const Server& server : view.servers) {
      const auto type = types_.find(server.description.gpu_type);
      if (type != types_.end() && is_eligible(server, job.request)) made.speed[type->second] = speeds[type->second];
    }
    return made;
  }

  std::size_t class_of(const View& view, const Job& job, std::map<ClassKey, std::size_t>& known,
                       std::vector<FairClass>& classes) {
    const JobRequest& request = job.request;
    std::vector<int> speeds = types_.size() > 1 ? speeds_of(job) : std::vector<int>(types_.size(), 100);
    if (classes.size() >= classes_max) speeds.assign(types_.size(), 100);
    ClassKey key{request.gpus,
                 request.user_weight,
                 request.servers_max,
                 request.gpu_types,
                 request.gpu_memory_bytes.value_or(-1),
                 request.needs_containers,
                 request.servers_chosen,
                 speeds};
    const auto [at, is_new] = known.try_emplace(std::move(key), classes.size());
    if (is_new) {
      classes.push_back(make_class(view, job, speeds));
      std::vector<bool>& may_use = may_use_.emplace_back();
      for (const double speed : classes.back().speed) may_use.push_back(speed > 0);
    }
    ++classes[at->second].jobs;
    return at->second;
  }

  void rank(const View& view) {
    entries_.clear();
    started_.clear();
    may_use_.clear();
    if (types_.empty()) return;
    std::map<ClassKey, std::size_t> known;
    std::vector<FairClass> classes;
    // In an order that depends on the jobs alone, because rounding makes sums of real numbers depend on the order.
    std::vector<JobIndex> jobs(view.waiting.begin(), view.waiting.end());
    jobs.insert(jobs.end(), view.active.begin(), view.active.end());
    std::sort(jobs.begin(), jobs.end(),
              [&](JobIndex a, JobIndex b) { return submitted_before(view.job(a), view.job(b)); });
    std::vector<std::size_t> class_of_job;
    for (const JobIndex job : jobs) class_of_job.push_back(class_of(view, view.job(job), known, classes));
    fractions_ = max_min_fractions(classes, gpus_by_type_);
    for (std::size_t i = 0; i < jobs.size(); ++i) add_entries(view, jobs[i], class_of_job[i]);
    std::stable_sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
      if (a.priority != b.priority) return a.priority > b.priority;
      return a.missed != b.missed ? a.missed > b.missed : a.x > b.x;
    });
  }

  // One entry for each type the job may use; one for all of them together if it is wider than each.
  void add_entries(const View& view, JobIndex index, std::size_t of_class) {
    const Job& job = view.job(index);
    const std::vector<double>& x = fractions_[of_class];
    const double life_s = (view.now - job.request.submitted).to_seconds();
    const double ran_s = job.run_at(view.now).to_seconds();
    const double all_x = std::accumulate(x.begin(), x.end(), 0.0);
    const auto add = [&](std::size_t type, double due, double had_s) {
      const double priority = had_s <= 0 || life_s <= 0 ? due * 1e9 : due / (had_s / life_s);
      entries_.push_back({index, of_class, type, due, priority, due * life_s - had_s});
    };
    if (types_.size() == 1) return add(0, all_x, ran_s);
    const std::vector<double> had_s = time_by_type(view, job, x);
    const std::size_t before = entries_.size();
    for (std::size_t j = 0; j < x.size(); ++j) {
      if (gpus_by_type_[j] >= job.request.gpus && may_use_[of_class][j]) add(j, x[j], had_s[j]);
    }
    if (entries_.size() == before) add(any_type, all_x, ran_s);
  }

  // Seconds the job has run on each type. Time on an unknown type (the controller was restarted, or there was only one
  // type) counts as divided the way it should have been.
  std::vector<double> time_by_type(const View& view, const Job& job, const std::vector<double>& x) const {
    std::vector<double> had_s(types_.size(), 0);
    double known_s = 0;
    const auto count = [&](GpuTypeIndex type, double seconds) {
      known_s += seconds;
      if (const auto at = types_.find(type); at != types_.end()) had_s[at->second] += seconds;
    };
    if (job.run_by_gpu_type) {
      for (const GpuTypeTime& time : *job.run_by_gpu_type) count(time.gpu_type, time.run.to_seconds());
    }
    const double since_s = job.is_accruing() ? (view.now - job.accounted).to_seconds() : 0;
    for (const ServerGpus& part : job.allocation.parts()) {
      count(view.servers[part.server].description.gpu_type, since_s * part.gpus.count() / job.allocation.count());
    }
    const double all_x = std::accumulate(x.begin(), x.end(), 0.0);
    const double unknown_s = job.run_at(view.now).to_seconds() - known_s;
    if (unknown_s < 1e-3 || all_x <= 0) return had_s;
    for (std::size_t j = 0; j < x.size(); ++j) had_s[j] += unknown_s * x[j] / all_x;
    return had_s;
  }

  // ---- who gets what ----

  static bool may_stop(const Snapshot& snapshot, const Job& job) {
    return all_usable(snapshot, job.allocation) && job.state == JobState::running && job.request.preemptible &&
           job.request.capability == Capability::checkpoint;
  }

  // A new round: the first jobs in order that fit by count. Running jobs that are not among them are preempted; those
  // that are due on another type move there.
  void divide(const Snapshot& snapshot, Trial& trial, Plan& plan) {
    const std::map<JobIndex, const Entry*> chosen = choose(snapshot, trial.free());
    std::vector<const Entry*> placed;  // jobs to start or move, in order
    std::vector<JobIndex> stopped;
    std::set<JobIndex> seen;
    for (const Entry& entry : entries_) {
      if (!seen.insert(entry.job).second) continue;
      const Job& job = snapshot.job(entry.job);
      const auto at = chosen.find(entry.job);
      if (job.is_waiting()) {
        if (at != chosen.end()) placed.push_back(at->second);
      } else if (may_stop(snapshot, job)) {
        if (at == chosen.end()) stopped.push_back(entry.job);
        if (at != chosen.end() && !is_on(snapshot, job, at->second->type)) placed.push_back(at->second);
      }
    }
    std::sort(placed.begin(), placed.end());  // by their position in entries_
    carry_out(snapshot, placed, stopped, trial, plan);
  }

  std::map<JobIndex, const Entry*> choose(const Snapshot& snapshot, const FreeGpus& free) const {
    std::vector<int> left(types_.size(), 0);
    const auto count = [&](ServerIndex server, int gpus) {
      if (const auto at = types_.find(snapshot.servers[server].description.gpu_type); at != types_.end())
        left[at->second] += gpus;
    };
    for (std::uint32_t s = 0; s < free.servers(); ++s) {
      if (free.is_open(ServerIndex(s))) count(ServerIndex(s), free.count(ServerIndex(s)));
    }
    for (const JobIndex job : snapshot.active) {
      if (!may_stop(snapshot, snapshot.job(job))) continue;
      for (const ServerGpus& part : snapshot.job(job).allocation.parts()) count(part.server, part.gpus.count());
    }
    std::map<JobIndex, const Entry*> chosen;
    for (const Entry& entry : entries_) {
      const Job& job = snapshot.job(entry.job);
      if (chosen.contains(entry.job) || (!job.is_waiting() && !may_stop(snapshot, job))) continue;
      if (take(left, entry.type, job.is_waiting() ? job.request.gpus : job.allocation.count()))
        chosen.emplace(entry.job, &entry);
    }
    return chosen;
  }
  static bool take(std::vector<int>& left, std::size_t type, int gpus) {
    if (type != any_type) {
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

  void carry_out(const Snapshot& snapshot, const std::vector<const Entry*>& placed,
                 const std::vector<JobIndex>& stopped, Trial& trial, Plan& plan) {
    std::vector<JobIndex> leaving = stopped;
    for (const Entry* entry : placed) {
      if (!snapshot.job(entry->job).is_waiting()) leaving.push_back(entry->job);
    }
    for (const JobIndex job : leaving) trial.give(coming(snapshot, trial, job), snapshot.job(job).request);
    std::vector<JobIndex> staying = stopped;
    std::vector<Move> moves;
    for (const Entry* entry : placed) {
      if (snapshot.job(entry->job).is_waiting()) {
        start(snapshot, *entry, trial, plan);
      } else if (auto gpus = place_move(snapshot, *entry, trial)) {
        moves.push_back({entry->job, std::move(*gpus)});
      } else {
        staying.push_back(entry->job);
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

  bool is_on(const Snapshot& snapshot, const Job& job, std::size_t type) const {
    return type == any_type ||
           std::all_of(job.allocation.parts().begin(), job.allocation.parts().end(), [&](const ServerGpus& part) {
             const auto at = types_.find(snapshot.servers[part.server].description.gpu_type);
             return at != types_.end() && at->second == type;
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

  std::optional<Allocation> place_on_type(const Snapshot& snapshot, const Job& job, std::size_t type, int gpus,
                                          const FreeGpus& free) const {
    if (types_.size() == 1 || type == any_type || is_frozen(job)) return place(free, snapshot.servers, job, gpus);
    JobRequest of_type = job.request;
    of_type.gpu_types = {type_at_[type]};
    return place(free, snapshot.servers, of_type, gpus);
  }

  // A job that does not fit closes its class on that type: free GPUs only become fewer.
  void start_waiting(const Snapshot& snapshot, Trial& trial, Plan& plan) {
    std::set<std::pair<std::size_t, std::size_t>> closed;
    for (const Entry& entry : entries_) {
      if (trial.free().total() == 0) return;
      const Job& job = snapshot.job(entry.job);
      if (!job.is_waiting() || started_.contains(entry.job)) continue;
      const bool plain = job.request.demand.is_zero() && !is_frozen(job);
      const std::pair line{entry.of_class, entry.type};
      if (plain && closed.contains(line)) continue;
      if (!start(snapshot, entry, trial, plan) && plain) closed.insert(line);
    }
    if (types_.size() > 1) start_on_any_type(snapshot, trial, plan);
  }

  // Starts jobs for which there is room on several types together, or on a type they are not due on.
  void start_on_any_type(const Snapshot& snapshot, Trial& trial, Plan& plan) {
    std::set<std::size_t> closed;
    for (Entry entry : entries_) {
      if (trial.free().total() == 0) return;
      const Job& job = snapshot.job(entry.job);
      const bool plain = job.request.demand.is_zero() && !is_frozen(job);
      if (!job.is_waiting() || started_.contains(entry.job) || (plain && closed.contains(entry.of_class))) continue;
      entry.type = any_type;
      if (!start(snapshot, entry, trial, plan) && plain) closed.insert(entry.of_class);
    }
  }

  Duration round_;
  std::map<GpuTypeIndex, std::size_t> types_;
  std::vector<GpuTypeIndex> type_at_;  // by column
  std::vector<double> gpus_by_type_;
  std::vector<std::vector<bool>> may_use_;  // by class and type
  std::vector<Entry> entries_;
  std::set<JobIndex> started_;  // by this plan
  std::vector<std::vector<double>> fractions_;
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
