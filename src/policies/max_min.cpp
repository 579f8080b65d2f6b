#include "policies/max_min.h"

#include <algorithm>
#include <map>
#include <set>

#include "policy/linear_program.h"
#include "policy/placer.h"

namespace sl {

std::vector<std::vector<double>> max_min_fractions(const std::vector<FairClass>& classes,
                                                   const std::vector<double>& gpus_by_type) {
  constexpr double tie_weight = 1e-5;  // of total throughput against the least job's
  const std::size_t types = gpus_by_type.size(), n = classes.size(), least = n * types;
  double gpus = 0, jobs = 0;
  for (const double count : gpus_by_type) gpus += count;
  for (const FairClass& c : classes) jobs += c.jobs;
  LinearProgram program(least + 1);
  program.set_objective(least, 1);
  std::vector<std::vector<std::pair<std::size_t, double>>> use(types);
  bool any_runs = false;
  for (std::size_t c = 0; c < n; ++c) {
    double equal = 0;
    for (std::size_t j = 0; j < types; ++j) equal += classes[c].speed[j] * gpus_by_type[j] / gpus;
    std::vector<std::pair<std::size_t, double>> gets{{least, 1.0}}, time;
    for (std::size_t j = 0; j < types; ++j) {
      if (classes[c].speed[j] <= 0 || equal <= 0) continue;
      const double value = classes[c].gpus * classes[c].speed[j] / (classes[c].weight * equal);
      gets.emplace_back(c * types + j, -value);
      time.emplace_back(c * types + j, 1.0);
      use[j].emplace_back(c * types + j, classes[c].jobs * classes[c].gpus);
      program.set_objective(c * types + j, tie_weight * value * classes[c].jobs / jobs);
    }
    if (time.empty()) continue;  // it can run nowhere: it must not hold the others down
    program.add_row(gets, 0);
    program.add_row(time, 1);
    any_runs = true;
  }
  for (std::size_t j = 0; j < types; ++j) program.add_row(use[j], gpus_by_type[j]);
  const auto x = any_runs ? program.solve() : std::nullopt;  // without rows of jobs `least` has no limit
  std::vector<std::vector<double>> fractions(n, std::vector<double>(types, 0.0));
  for (std::size_t v = 0; x && v < least; ++v) fractions[v / types][v % types] = std::clamp((*x)[v], 0.0, 1.0);
  return fractions;
}

namespace {

constexpr const char* version = "max_min-1";
constexpr std::size_t classes_max = 96;  // keeps the program small; jobs beyond count as equally fast on all types

class MaxMin : public Policy {
 public:
  explicit MaxMin(Duration round) : round_(round) {}
  void attach(const Snapshot&) override {}
  void notice(const Snapshot&, NoticeKind, JobIndex) override {}

  void decide(const Snapshot& snapshot, Plan& plan) override {
    const std::int64_t round = index_of_round(snapshot.now);
    const std::string mark = std::string(version) + ' ' + std::to_string(round);
    const bool due = snapshot.memory.blob != mark;
    if (due) plan.remember(mark);
    if (snapshot.waiting.empty()) return;
    if (due || snapshot.free.total() > 0) {
      rank(snapshot);
      Trial trial(snapshot.free);
      if (due) divide(snapshot, trial, plan);
      start_waiting(snapshot, trial, plan);
    }
    if (!snapshot.active.empty()) plan.wake_at(Instant{(round + 1) * round_.us});
  }

  std::vector<JobIndex> queue_order(const Snapshot& snapshot) const override {
    MaxMin copy(*this);
    copy.rank(snapshot);
    std::vector<JobIndex> order;
    for (const Entry& entry : copy.entries_) {
      if (snapshot.job(entry.job).is_waiting()) order.push_back(entry.job);
    }
    return order;
  }

 private:
  struct Entry {
    JobIndex job;
    std::size_t of_class;
    double x, priority, missed;
  };
  using ClassKey = std::tuple<int, double, bool, std::vector<GpuTypeIndex>, std::int64_t, std::vector<int>>;

  std::int64_t index_of_round(Instant now) const {
    return now.us >= 0 ? now.us / round_.us : -((-now.us + round_.us - 1) / round_.us);
  }

  // ---- what everybody is due ----

  void find_types(const Snapshot& snapshot) {
    types_.clear();
    gpus_by_type_.clear();
    for (const Server& server : snapshot.servers) {
      if (server.state != ServerState::up || server.description.gpus == 0) continue;
      const auto [at, is_new] = types_.try_emplace(server.description.gpu_type, types_.size());
      if (is_new) gpus_by_type_.push_back(0);
      gpus_by_type_[at->second] += (server.all() - server.outside - server.unavailable).count();
    }
  }

  // Speed by type in hundredths of the fastest; types never tried count like the mean of those tried.
  std::vector<int> speeds_of(const Job& job) const {
    std::vector<double> sum(types_.size(), 0), count(types_.size(), 0);
    double all = 0, samples = 0, fastest = 0;
    if (job.telemetry) {
      for (const SpeedSample& sample : job.telemetry->speeds) {
        const auto at = types_.find(sample.gpu_type);
        if (at == types_.end() || sample.neighbour.valid() || !(sample.steps_per_s > 0)) continue;
        sum[at->second] += sample.steps_per_s / sample.workers;
        ++count[at->second];
        all += sample.steps_per_s / sample.workers;
        ++samples;
      }
    }
    std::vector<double> speed(types_.size(), samples > 0 ? all / samples : 1);
    for (std::size_t j = 0; j < speed.size(); ++j) {
      if (count[j] > 0) speed[j] = sum[j] / count[j];
      fastest = std::max(fastest, speed[j]);
    }
    std::vector<int> parts;
    for (const double s : speed) parts.push_back(std::max(1, static_cast<int>(s / fastest * 100 + 0.5)));
    return parts;
  }

  FairClass make_class(const Snapshot& snapshot, const Job& job, const std::vector<int>& speeds) const {
    FairClass made{0, static_cast<double>(job.request.gpus), std::max(1e-6, job.request.user_weight), {}};
    made.speed.assign(types_.size(), 0);
    for (const Server& server : snapshot.servers) {
      const auto type = types_.find(server.description.gpu_type);
      if (type != types_.end() && is_eligible(server, job.request)) made.speed[type->second] = speeds[type->second];
    }
    return made;
  }

  std::size_t class_of(const Snapshot& snapshot, const Job& job, std::map<ClassKey, std::size_t>& known,
                       std::vector<FairClass>& classes) const {
    const JobRequest& request = job.request;
    std::vector<int> speeds = types_.size() > 1 ? speeds_of(job) : std::vector<int>(types_.size(), 100);
    if (classes.size() >= classes_max) speeds.assign(types_.size(), 100);
    ClassKey key{request.gpus,
                 request.user_weight,
                 request.single_server,
                 request.gpu_types,
                 request.gpu_memory_bytes.value_or(-1),
                 speeds};
    const auto [at, is_new] = known.try_emplace(std::move(key), classes.size());
    if (is_new) classes.push_back(make_class(snapshot, job, speeds));
    ++classes[at->second].jobs;
    return at->second;
  }

  void rank(const Snapshot& snapshot) {
    find_types(snapshot);
    entries_.clear();
    if (types_.empty()) return;
    std::map<ClassKey, std::size_t> known;
    std::vector<FairClass> classes;
    // In an order that depends on the jobs alone, as sums of real numbers do on it.
    std::vector<JobIndex> jobs(snapshot.waiting.begin(), snapshot.waiting.end());
    jobs.insert(jobs.end(), snapshot.active.begin(), snapshot.active.end());
    std::sort(jobs.begin(), jobs.end(),
              [&](JobIndex a, JobIndex b) { return submitted_before(snapshot.job(a), snapshot.job(b)); });
    for (const JobIndex job : jobs) {
      const std::size_t of_class = class_of(snapshot, snapshot.job(job), known, classes);
      entries_.push_back({job, of_class, 0, 0, 0});
    }
    fractions_ = max_min_fractions(classes, gpus_by_type_);
    for (Entry& entry : entries_) value(snapshot, entry);
    std::stable_sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
      if (a.priority != b.priority) return a.priority > b.priority;
      return a.missed != b.missed ? a.missed > b.missed : a.x > b.x;
    });
  }

  void value(const Snapshot& snapshot, Entry& entry) const {
    const Job& job = snapshot.job(entry.job);
    for (const double x : fractions_[entry.of_class]) entry.x += x;
    const double life_s = (snapshot.now - job.request.submitted).to_seconds();
    const double ran_s = job.run_at(snapshot.now).to_seconds();
    entry.priority = ran_s <= 0 || life_s <= 0 ? entry.x * 1e9 : entry.x / (ran_s / life_s);
    entry.missed = entry.x * life_s - ran_s;
  }

  // ---- who gets it ----

  static bool may_stop(const Snapshot& snapshot, const Job& job) {
    return all_usable(snapshot, job.allocation) && job.state == JobState::running && job.request.preemptible &&
           job.request.capability == Capability::checkpoint;
  }

  // A new round: the first in order that fit by count, and preempts running jobs that are not among them.
  void divide(const Snapshot& snapshot, Trial& trial, Plan& plan) {
    int left = trial.free().total();
    for (const JobIndex job : snapshot.active) {
      if (may_stop(snapshot, snapshot.job(job))) left += snapshot.job(job).allocation.count();
    }
    std::vector<JobIndex> stopped;
    std::vector<Entry*> starting;
    for (Entry& entry : entries_) {
      const Job& job = snapshot.job(entry.job);
      const bool waits = job.is_waiting();
      if (!waits && !may_stop(snapshot, job)) continue;
      const int gpus = waits ? job.request.gpus : job.allocation.count();
      const bool chosen = gpus <= left;
      if (chosen) left -= gpus;
      if (chosen && waits) starting.push_back(&entry);
      if (!chosen && !waits) stopped.push_back(entry.job);
    }
    for (const JobIndex job : stopped) trial.give(coming(snapshot, trial, job), snapshot.job(job).request.demand);
    for (Entry* entry : starting) start(snapshot, *entry, trial, plan);
    for (const JobIndex job : stopped) {  // first in order first: what nobody took goes back
      const Job& running = snapshot.job(job);
      if (takes_back(snapshot, trial, running)) continue;
      plan.preempt(job);
    }
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
  static bool takes_back(const Snapshot&, Trial& trial, const Job& job) {
    if (free_part(trial, job.allocation) != job.allocation) return false;
    for (const ServerGpus& part : job.allocation.parts()) {
      if (!trial.free().fits(part.server, job.request.demand)) return false;
    }
    trial.take(job.allocation, job.request.demand);
    return true;
  }

  bool start(const Snapshot& snapshot, Entry& entry, Trial& trial, Plan& plan) {
    if (entry.priority < 0) return true;  // has started
    auto gpus = place_on_best_type(snapshot, entry, trial.free());
    if (!gpus) return false;
    trial.take(*gpus, snapshot.job(entry.job).request.demand);
    plan.start(entry.job, std::move(*gpus));
    entry.priority = -1;
    return true;
  }

  std::optional<Allocation> place_on_best_type(const Snapshot& snapshot, const Entry& entry,
                                               const FreeGpus& free) const {
    const JobRequest& request = snapshot.job(entry.job).request;
    const std::vector<double>& x = fractions_[entry.of_class];
    std::vector<std::pair<double, GpuTypeIndex>> wanted;
    for (const auto& [type, column] : types_) {
      if (x[column] > 1e-9 && type.valid()) wanted.emplace_back(-x[column], type);
    }
    if (types_.size() > 1) {
      std::sort(wanted.begin(), wanted.end());
      for (const auto& [minus_x, type] : wanted) {
        JobRequest of_type = request;
        of_type.gpu_types = {type};
        if (auto gpus = place(free, snapshot.servers, of_type, request.gpus)) return gpus;
      }
    }
    return place(free, snapshot.servers, request, request.gpus);
  }

  // One that does not fit closes its class: free GPUs only become fewer.
  void start_waiting(const Snapshot& snapshot, Trial& trial, Plan& plan) {
    std::set<std::size_t> closed;
    for (Entry& entry : entries_) {
      if (trial.free().total() == 0) return;
      const Job& job = snapshot.job(entry.job);
      if (!job.is_waiting()) continue;
      const bool plain = job.request.demand.is_zero();
      if (plain && closed.contains(entry.of_class)) continue;
      if (!start(snapshot, entry, trial, plan) && plain) closed.insert(entry.of_class);
    }
  }

  Duration round_;
  std::map<GpuTypeIndex, std::size_t> types_;
  std::vector<double> gpus_by_type_;
  std::vector<Entry> entries_;
  std::vector<std::vector<double>> fractions_;
};

}  // namespace

PolicyEntry max_min_entry() {
  PolicyInfo info;
  info.name = "max_min";
  info.title = "Max-Min Fairness";
  info.summary =
      "Divides time on each type of GPU so that the job with the least, against an equal share, has as much as "
      "possible; in "
      "rounds.";
  info.good_for = "GPUs of several types; equal treatment of all jobs";
  info.weak_for = "mean completion time; jobs that are costly to interrupt";
  info.needs = {checkpoint_or_left_alone(),
                {Fact::none, "all types count as equally fast", "speeds on each GPU type, as jobs tell them"}};
  info.aliases = {"gavel", "max_min_fairness"};
  info.preemptive = true;
  info.work_conserving = true;
  info.parameters = {
      {"round_s", ParameterType::number, "s", "360", 1, 86400, {}, "how long a division of the GPUs stands"}};
  return {std::move(info), [](const Parameters& given) -> std::unique_ptr<Policy> {
            return std::make_unique<MaxMin>(Duration::seconds(given.number("round_s")));
          }};
}

}  // namespace sl
