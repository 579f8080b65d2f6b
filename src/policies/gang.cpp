#include "policies/gang.h"

#include <algorithm>

#include "policy/placer.h"
#include "policy/queue_policy.h"
#include "policy/reservations.h"

namespace sl {
namespace {

struct Settings {
  bool backfill = true;
  int depth = 1000;
  Duration settle = Duration::whole_seconds(60);
  ReservationSettings reservations;
};

class Gang : public ArrivalPolicy {
 public:
  explicit Gang(const Settings& settings) : settings_(settings) {}

  void decide(const Snapshot& snapshot, Plan& plan) override {
    Trial trial(snapshot.free);
    starting_.clear();
    Walk walk(lines_);
    for (; !walk.done(); walk.next()) {
      auto gpus = place_gang(snapshot, trial.free(), snapshot.job(walk.job()).request);
      if (!gpus) break;
      take(snapshot, walk.job(), std::move(*gpus), trial);
    }
    const bool all_served = walk.done();
    if (!all_served && settings_.backfill && trial.free().total() > 0) backfill(snapshot, walk, trial, plan);
    if (all_served) add_members(snapshot, trial, plan);
    for (Starting& gang : starting_) plan.start(gang.job, std::move(gang.gpus));
  }

 protected:
  int gpus_of(const Job& job) const override { return job.request.gpus_min; }

 private:
  struct Starting {
    JobIndex job;
    Allocation gpus;
  };

  void take(const Snapshot& snapshot, JobIndex job, Allocation gpus, Trial& trial) {
    trial.take(gpus, snapshot.job(job).request.demand);
    starting_.push_back({job, std::move(gpus)});
  }

  static bool hosts_nobody(const Snapshot& snapshot, const FreeGpus& free, ServerIndex server) {
    const Server& at = snapshot.servers[server];
    return free.on(server) == at.all() - at.outside - at.unavailable;
  }

  static std::optional<Allocation> place_gang(const Snapshot& snapshot, const FreeGpus& free,
                                              const JobRequest& request) {
    const int members = request.gpus_min;
    if (free.total() < members) return std::nullopt;
    ServerIndex best;
    for (int n = members; n <= free.gpus_per_server_max(); ++n) {
      const IndexSet& bucket = free.with_exactly(n);
      for (std::uint32_t s = bucket.next(); s != IndexSet::none; s = bucket.next(s + 1)) {
        const ServerIndex server(s);
        if (!is_eligible(snapshot.servers[server], request) || !free.fits(server, request.demand)) continue;
        if (hosts_nobody(snapshot, free, server)) return Allocation(server, free.on(server).lowest(members));
        if (!best.valid()) best = server;
      }
    }
    if (best.valid()) return Allocation(best, free.on(best).lowest(members));
    if (request.single_server) return std::nullopt;
    return spread_gang(snapshot, free, request);
  }

  static std::optional<Allocation> spread_gang(const Snapshot& snapshot, const FreeGpus& free,
                                               const JobRequest& request) {
    struct Place {
      bool shared;
      int free;
      ServerIndex server;
    };
    const double members = request.gpus_min;
    std::vector<Place> places;
    for (std::uint32_t s = 0; s < free.servers(); ++s) {
      const ServerIndex server(s);
      const int here = std::min(free.count(server), request.gpus_min);
      if (here == 0 || !free.is_open(server) || !is_eligible(snapshot.servers[server], request)) continue;
      if (!free.fits(server, request.demand * (here / members))) continue;
      places.push_back({!hosts_nobody(snapshot, free, server), here, server});
    }
    std::stable_sort(places.begin(), places.end(),
                     [](const Place& a, const Place& b) { return a.shared != b.shared ? b.shared : a.free > b.free; });
    Allocation gpus;
    int left = request.gpus_min;
    for (const Place& place : places) {
      const int here = std::min(left, place.free);
      if (here == 0) break;
      gpus.add(place.server, free.on(place.server).lowest(here));
      left -= here;
    }
    if (left > 0) return std::nullopt;
    return gpus;
  }

  void backfill(const Snapshot& snapshot, Walk& walk, Trial& trial, Plan& plan) {
    const JobRequest& head = snapshot.job(walk.job()).request;
    std::vector<Holding> held = holdings(snapshot, settings_.reservations);
    for (const Starting& gang : starting_) held.push_back(holding(snapshot, gang));
    if (const Instant at = first_end(held); !at.is_never()) plan.wake_at(at);
    auto shadow = find_shadow(snapshot, head, head.gpus_min, std::move(held), trial);
    if (!shadow) shadow = Shadow{Instant::never(), {}, std::vector<int>(trial.free().servers(), 0)};
    if (!shadow->gpus.empty()) plan.reserve(walk.job(), shadow->gpus, shadow->at);
    Backfill room(snapshot, *shadow, trial.free());
    walk.next();
    for (int tried = 0; tried < settings_.depth && !walk.done() && trial.free().total() > 0; ++tried, walk.next()) {
      const Job& job = snapshot.job(walk.job());
      const Duration bound = run_bound(snapshot, job, job.request.gpus_min, settings_.reservations);
      auto gpus = room.find(trial.free(), job.request, job.request.gpus_min, bound);
      if (!gpus) continue;
      take(snapshot, walk.job(), *gpus, trial);
      room.took(trial.free(), *gpus, bound);
      plan.wake_at(snapshot.now + bound);
    }
  }

  Holding holding(const Snapshot& snapshot, const Starting& gang) const {
    const Job& job = snapshot.job(gang.job);
    return {snapshot.now + run_bound(snapshot, job, gang.gpus.count(), settings_.reservations), gang.gpus,
            job.request.demand};
  }

  // Nobody waits: older gangs first, those that start now are the youngest.
  void add_members(const Snapshot& snapshot, Trial& trial, Plan& plan) {
    std::vector<JobIndex> growing;
    Instant wake = Instant::never();
    for (const JobIndex index : snapshot.active) {
      const Job& job = snapshot.job(index);
      if (job.allocation.count() >= job.request.gpus || !job.request.preemptible ||
          job.request.capability != Capability::checkpoint)
        continue;
      const bool runs = job.state == JobState::running;
      const Instant ripe = (runs ? job.last_start : snapshot.now) + settings_.settle;
      if (runs && ripe <= snapshot.now) growing.push_back(index);
      if (ripe > snapshot.now) wake = std::min(wake, ripe);
    }
    std::sort(growing.begin(), growing.end(),
              [&](JobIndex a, JobIndex b) { return submitted_before(snapshot.job(a), snapshot.job(b)); });
    for (const JobIndex index : growing) {
      const Job& job = snapshot.job(index);
      if (!may_stay_on(snapshot, job, job.allocation)) continue;
      Allocation gpus = job.allocation;
      if (extend(snapshot, job.request, gpus, trial)) plan.resize(index, std::move(gpus));
    }
    for (Starting& gang : starting_) {
      const JobRequest& request = snapshot.job(gang.job).request;
      extend(snapshot, request, gang.gpus, trial);
      if (gang.gpus.count() < request.gpus && request.capability == Capability::checkpoint && request.preemptible)
        wake = std::min(wake, snapshot.now + settings_.settle);
    }
    if (!wake.is_never()) plan.wake_at(wake);
  }

  // Up to the wanted number, on the servers it has.
  static bool extend(const Snapshot&, const JobRequest& request, Allocation& gpus, Trial& trial) {
    const int before = gpus.count();
    const Allocation had = gpus;
    for (const ServerGpus& part : had.parts()) {
      if (!trial.free().is_open(part.server)) continue;
      const int more = std::min(request.gpus - gpus.count(), trial.free().count(part.server));
      if (more <= 0) continue;
      const GpuSet added = trial.free().on(part.server).lowest(more);
      trial.take(Allocation(part.server, added));
      gpus.add(part.server, added);
    }
    return gpus.count() > before;
  }

  Settings settings_;
  std::vector<Starting> starting_;
};

}  // namespace

PolicyEntry gang_entry() {
  PolicyInfo info;
  info.name = "gang";
  info.title = "Gang Scheduling";
  info.summary =
      "A job with several members starts with all it needs at least or not at all, on servers of its own where "
      "possible.";
  info.good_for = "distributed jobs, which get stuck when only some of their members run";
  info.weak_for = "tight packing: members keep away from other jobs";
  info.needs = {{Fact::choice_of_gpus, "they start with all their members or not at all"}, run_time_or_default()};
  info.elastic = true;
  info.parameters = {
      {"when_blocked",
       ParameterType::choice,
       "",
       "backfill",
       0,
       0,
       {"backfill", "strict"},
       "backfill: gangs that cannot delay the first one may pass it; strict: nobody passes"},
      {"backfill_depth", ParameterType::integer, "jobs", "1000", 0, 1e6, {}, "how many are tried behind the first"},
      {"settle_s", ParameterType::number, "s", "60", 0, 86400, {}, "a gang runs this long before it gets more members"},
  };
  for (ParameterInfo& parameter : ReservationSettings::parameters()) info.parameters.push_back(std::move(parameter));
  return {std::move(info), [](const Parameters& given) -> std::unique_ptr<Policy> {
            return std::make_unique<Gang>(
                Settings{given.text("when_blocked") == "backfill", given.integer("backfill_depth"),
                         Duration::seconds(given.number("settle_s")), ReservationSettings::of(given)});
          }};
}

}  // namespace sl
