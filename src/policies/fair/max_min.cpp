#include "policies/fair/max_min.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <tuple>

#include "base/text.h"
#include "policies/fair/max_min_fractions.h"
#include "policy/ordered_jobs.h"
#include "policy/placer.h"

namespace sl {

namespace {

constexpr const char* rounds_version = "max_min-1";
constexpr std::size_t classes_max = 96;  // keeps the program small; jobs beyond the limit count as equally fast on all
                                         // types

// The order in which jobs are read: that of their classes in the program follows from it.
struct SubmissionKey {
  Instant submitted;
  JobId id;
  static SubmissionKey of(const Job& job) { return {job.request.submitted, job.request.id}; }
  friend auto operator<=>(const SubmissionKey&, const SubmissionKey&) = default;
};

// What a job is due on one type of GPU.
struct Entry {
  JobIndex job;
  std::size_t of_class = 0, type = 0;  // type: a column of the fractions, or any_type
  double x = 0, priority = 0, missed = 0;
  SubmissionKey key;

  static constexpr std::size_t any_type = std::numeric_limits<std::size_t>::max();  // for jobs wider than any one type
  friend bool operator<(const Entry& a, const Entry& b) {                           // whose turn is earlier
    if (a.priority != b.priority) return a.priority > b.priority;
    if (a.missed != b.missed) return a.missed > b.missed;
    if (a.x != b.x) return a.x > b.x;
    return std::tie(a.key, a.type) < std::tie(b.key, b.type);
  }
};

class MaxMin : public Policy {
 public:
  explicit MaxMin(Duration round) : round_(round) {}

  void attach(const Snapshot& snapshot) override { read_all(snapshot); }
  void notice(const Snapshot& snapshot, NoticeKind kind, JobIndex job) override {
    const bool changes_class = kind == NoticeKind::edited && knows(job);
    if (kind == NoticeKind::waiting || kind == NoticeKind::active || changes_class) {
      enter(snapshot, job, changes_class ? jobs_[job].place != Place::active : kind == NoticeKind::waiting);
    } else if (kind == NoticeKind::ended) {
      leave(job);
    }
  }

  void decide(const Snapshot& snapshot, Plan& plan) override {
    const std::int64_t round = index_of_round(snapshot.now);
    const std::string mark = std::string(rounds_version) + ' ' + std::to_string(round);
    const bool due = snapshot.memory.blob != mark;
    if (due) plan.remember(mark);
    refresh(snapshot);
    if (snapshot.waiting.empty() && types_.size() < 2) return;  // no job wants another place
    if (due || snapshot.free.total() > 0) {
      work_out_fractions();
      started_.clear();
      Trial trial(snapshot.free);
      if (due) divide(snapshot, trial, plan);
      start_waiting(snapshot, trial, plan);
    }
    if (!snapshot.active.empty()) plan.wake_at(Instant{(round + 1) * round_.us});
  }

  std::vector<JobIndex> queue_order(const View& view) const override {
    MaxMin copy(round_);
    copy.read_all(view);
    copy.work_out_fractions();
    std::vector<JobIndex> order;
    std::set<JobIndex> seen;
    for (Line line(copy, view, true); !line.done(); line.next()) {
      if (seen.insert(line.entry().job).second) order.push_back(line.entry().job);
    }
    return order;
  }

  std::string standing(const View& view, JobIndex index) const override {
    MaxMin copy(round_);
    copy.read_all(view);
    copy.work_out_fractions();
    double due = 0;
    copy.for_each_entry(view, index, [&](const Entry& entry) { due += entry.x; });
    const Job& job = view.job(index);
    const double life_s = (view.now - job.request.submitted).to_seconds();
    const double had = life_s > 0 ? job.run_at(view.now).to_seconds() / life_s : 0;
    return "due GPUs for " + percent_text(std::min(1.0, due)) + " of the time, has had them for " + percent_text(had);
  }

 private:
  static constexpr std::size_t any_type = Entry::any_type;
  using ClassKey =
      std::tuple<int, double, int, std::vector<GpuTypeIndex>, std::int64_t, bool, ServerChoice, std::vector<int>>;
  using Jobs = OrderedJobs<SubmissionKey>;

  // Jobs that are alike.
  struct Class {
    FairClass fair;
    std::vector<bool> may_use;  // by type
    Jobs jobs;                  // all of them
    Jobs fresh;                 // those that wait and have never run: whoever was submitted first goes first
    std::vector<double> x;      // by type: what each of them is due
  };
  enum class Place : std::uint8_t { nowhere, active, fresh, others };
  struct Known {  // of a job
    Place place = Place::nowhere;
    std::size_t of_class = 0;
    SubmissionKey key;
  };

  std::int64_t index_of_round(Instant now) const {
    return now.us >= 0 ? now.us / round_.us : -((-now.us + round_.us - 1) / round_.us);
  }

  // ---- who there is ----

  void read_all(const View& view) {
    generation_ = view.free.generation();
    find_types(view);
    classes_.clear();
    class_at_.clear();
    jobs_.clear();
    others_.clear();
    // In an order that depends on the jobs alone: the first that are unlike become classes.
    std::vector<JobIndex> jobs(view.waiting.begin(), view.waiting.end());
    jobs.insert(jobs.end(), view.active.begin(), view.active.end());
    std::ranges::sort(jobs, {}, [&](JobIndex job) { return SubmissionKey::of(view.job(job)); });
    for (const JobIndex job : jobs) enter(view, job, view.job(job).is_waiting());
  }

  // Classes depend on the servers and, with several types, on the speeds that jobs report. Which jobs become classes
  // when there are too many of them depends on all jobs.
  void refresh(const Snapshot& snapshot) {
    if (generation_ != snapshot.free.generation()) return read_all(snapshot);
    if (types_.size() < 2) return;
    if (classes_.size() >= classes_max) return read_all(snapshot);
    const auto look_at = [&](const std::vector<JobIndex>& jobs, bool wait) {
      for (const JobIndex job : jobs) {
        if (snapshot.job(job).telemetry) enter(snapshot, job, wait);
      }
    };
    look_at(std::vector<JobIndex>(others_), true);  // enter() changes it
    look_at(snapshot.active, false);
    if (classes_.size() >= classes_max) read_all(snapshot);
  }

  void enter(const View& view, JobIndex index, bool waits) {
    leave(index);
    if (!jobs_.contains(index)) jobs_.resize(index.value + 1);
    const Job& job = view.job(index);
    Known& known = jobs_[index] = {place_of(job, waits), class_of(view, job), SubmissionKey::of(job)};
    classes_[known.of_class].jobs.insert(index, known.key);
    if (known.place == Place::fresh) classes_[known.of_class].fresh.insert(index, known.key);
    if (known.place == Place::others) others_.push_back(index);
  }
  static Place place_of(const Job& job, bool waits) {
    if (!waits) return Place::active;
    return job.attempt == 0 && job.run.us == 0 && is_plain(job) ? Place::fresh : Place::others;
  }
  bool knows(JobIndex job) const { return jobs_.contains(job) && jobs_[job].place != Place::nowhere; }
  void leave(JobIndex index) {
    if (!knows(index)) return;
    Known& known = jobs_[index];
    const Place place = std::exchange(known.place, Place::nowhere);
    Class& of_class = classes_[known.of_class];
    of_class.jobs.erase(index, known.key);
    if (place == Place::fresh) of_class.fresh.erase(index, known.key);
    if (place == Place::others) std::erase(others_, index);
  }

  // Whether, if it does not fit, no other of its class does.
  static bool is_plain(const Job& job) { return job.request.demand.is_zero() && !is_frozen(job); }

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

  FairClass make_class(const View& view, const Job& job, const std::vector<int>& speeds) const {
    FairClass made{0, static_cast<double>(job.request.gpus), std::max(1e-6, job.request.user_weight), {}};
    made.speed.assign(types_.size(), 0);
    for (const Server& server : view.servers) {
      const auto type = types_.find(server.description.gpu_type);
      if (type != types_.end() && is_eligible(server, job.request)) made.speed[type->second] = speeds[type->second];
    }
    return made;
  }

  std::size_t class_of(const View& view, const Job& job) {
    const JobRequest& request = job.request;
    std::vector<int> speeds = types_.size() > 1 ? speeds_by_type(job, types_) : std::vector<int>(types_.size(), 100);
    if (classes_.size() >= classes_max) speeds.assign(types_.size(), 100);
    ClassKey key{request.gpus,
                 request.user_weight,
                 request.servers_max,
                 request.gpu_types,
                 request.gpu_memory_bytes.value_or(-1),
                 request.needs_containers,
                 request.servers_chosen,
                 speeds};
    const auto [at, is_new] = class_at_.try_emplace(std::move(key), classes_.size());
    if (is_new) {
      Class& made = classes_.emplace_back();
      made.fair = make_class(view, job, speeds);
      for (const double speed : made.fair.speed) made.may_use.push_back(speed > 0);
    }
    return at->second;
  }

  void work_out_fractions() {
    std::vector<Class*> classes;  // in order of their first jobs: rounding makes sums depend on the order
    for (Class& of_class : classes_) {
      of_class.fair.jobs = static_cast<double>(of_class.jobs.size());
      if (!of_class.jobs.empty()) classes.push_back(&of_class);
    }
    std::ranges::sort(classes, {}, [](const Class* of_class) { return of_class->jobs.begin()->key; });
    std::vector<FairClass> fair;
    for (const Class* of_class : classes) fair.push_back(of_class->fair);
    if (fair.empty() || types_.empty()) return;
    std::vector<std::vector<double>> fractions = max_min_fractions(fair, gpus_by_type_);
    for (std::size_t c = 0; c < classes.size(); ++c) classes[c]->x = std::move(fractions[c]);
  }

  // visit(entry) for each type the job may use; for all of them together if it is wider than each.
  template <typename Visit>
  void for_each_entry(const View& view, JobIndex index, Visit visit) const {
    if (types_.empty() || !knows(index)) return;
    const std::size_t of_class = jobs_[index].of_class;
    const Job& job = view.job(index);
    const std::vector<double>& x = classes_[of_class].x;
    const double life_s = (view.now - job.request.submitted).to_seconds();
    const double ran_s = job.run_at(view.now).to_seconds();
    const double all_x = std::accumulate(x.begin(), x.end(), 0.0);
    bool any = false;
    const auto add = [&](std::size_t type, double due, double had_s) {
      const double priority = had_s <= 0 || life_s <= 0 ? due * 1e9 : due / (had_s / life_s);
      any = true;
      visit(Entry{index, of_class, type, due, priority, due * life_s - had_s, jobs_[index].key});
    };
    if (types_.size() == 1) return add(0, all_x, ran_s);
    const std::vector<double> had_s = time_by_type(view, job, x);
    for (std::size_t j = 0; j < x.size(); ++j) {
      if (gpus_by_type_[j] >= job.request.gpus && classes_[of_class].may_use[j]) add(j, x[j], had_s[j]);
    }
    if (!any) add(any_type, all_x, ran_s);
  }

  // Entries of the jobs that wait, in order: all of those that have run, of the others only as many as are looked at.
  class Line {
   public:
    Line(const MaxMin& policy, const View& view, bool waiting_only) : policy_(policy), view_(view) {
      const auto put = [&](const Entry& entry) { heap_.push_back({entry, {}}); };
      for (const JobIndex job : policy.others_) policy.for_each_entry(view, job, put);
      for (const JobIndex job : waiting_only ? std::span<const JobIndex>() : std::span<const JobIndex>(view.active))
        policy.for_each_entry(view, job, put);
      for (const Class& of_class : policy.classes_) {
        if (of_class.fresh.empty()) continue;
        const Jobs::Iterator first = of_class.fresh.begin();
        policy.for_each_entry(view, first->job, [&](const Entry& entry) { heap_.push_back({entry, first}); });
      }
      std::ranges::make_heap(heap_, later);
    }
    bool done() const { return heap_.empty(); }
    const Entry& entry() const { return heap_.front().entry; }
    void next() {
      Source source = taken_out();
      if (source.fresh == Jobs::Iterator() || ++source.fresh == Jobs::Iterator()) return;
      const std::size_t type = source.entry.type;
      policy_.for_each_entry(view_, source.fresh->job, [&](const Entry& entry) {
        if (entry.type == type) source.entry = entry;
      });
      heap_.push_back(source);
      std::ranges::push_heap(heap_, later);
    }
    // Of this entry's class, on its type, those that have never run are not visited any more.
    void close() { taken_out(); }

   private:
    struct Source {
      Entry entry;
      Jobs::Iterator fresh;  // the job of the entry among those of its class; end: it is none of them
    };
    static bool later(const Source& a, const Source& b) { return b.entry < a.entry; }
    Source taken_out() {
      std::ranges::pop_heap(heap_, later);
      const Source source = heap_.back();
      heap_.pop_back();
      return source;
    }
    const MaxMin& policy_;
    const View& view_;
    std::vector<Source> heap_;
  };

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
    const std::vector<Entry> chosen = choose(snapshot, trial.free());
    std::set<JobIndex> stay;
    std::vector<Entry> placed;  // jobs to start or move, in order
    for (const Entry& entry : chosen) {
      const Job& job = snapshot.job(entry.job);
      stay.insert(entry.job);
      if (job.is_waiting() || !is_on(snapshot, job, entry.type)) placed.push_back(entry);
    }
    std::vector<Entry> stopped;
    for (const JobIndex job : snapshot.active) {
      if (!stay.contains(job) && may_stop(snapshot, snapshot.job(job)))
        for_each_entry(snapshot, job, [&](const Entry& entry) { stopped.push_back(entry); });
    }
    std::sort(stopped.begin(), stopped.end());
    std::vector<JobIndex> leaving;
    for (const Entry& entry : stopped) {
      if (stay.insert(entry.job).second) leaving.push_back(entry.job);
    }
    carry_out(snapshot, placed, leaving, trial, plan);
  }

  std::vector<Entry> choose(const Snapshot& snapshot, const FreeGpus& free) const {
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
    std::vector<Entry> chosen;
    std::set<JobIndex> seen;
    for (Line line(*this, snapshot, false); !line.done();) {
      const Entry& entry = line.entry();
      const Job& job = snapshot.job(entry.job);
      if (seen.contains(entry.job) || (!job.is_waiting() && !may_stop(snapshot, job))) {
        line.next();
      } else if (take(left, entry.type, job.is_waiting() ? job.request.gpus : job.allocation.count())) {
        chosen.push_back(entry);
        seen.insert(entry.job);
        line.next();
      } else {
        line.close();  // all of its class are as wide, and what is left only becomes less
      }
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
    for (Line line(*this, snapshot, true); !line.done() && trial.free().total() > 0;) {
      const Entry entry = line.entry();
      const bool plain = is_plain(snapshot.job(entry.job));
      const std::pair here{entry.of_class, entry.type};
      const bool is_closed = plain && closed.contains(here);
      if (!is_closed && (started_.contains(entry.job) || start(snapshot, entry, trial, plan) || !plain)) {
        line.next();
      } else {
        closed.insert(here);
        line.close();
      }
    }
    if (types_.size() > 1) start_on_any_type(snapshot, trial, plan);
  }

  // Starts jobs for which there is room on several types together, or on a type they are not due on.
  void start_on_any_type(const Snapshot& snapshot, Trial& trial, Plan& plan) {
    std::set<std::size_t> closed;
    for (Line line(*this, snapshot, true); !line.done() && trial.free().total() > 0;) {
      Entry entry = line.entry();
      entry.type = any_type;
      const bool plain = is_plain(snapshot.job(entry.job));
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
  std::uint64_t generation_ = 0;  // of the free GPUs, so of the servers, as of the last reading
  GpuTypeColumns types_;
  std::vector<GpuTypeIndex> type_at_;  // by column
  std::vector<double> gpus_by_type_;
  std::deque<Class> classes_;
  std::map<ClassKey, std::size_t> class_at_;
  IndexedVector<JobIndex, Known> jobs_;
  std::vector<JobIndex> others_;  // that wait, of those that are not fresh
  std::set<JobIndex> started_;    // by this plan
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
