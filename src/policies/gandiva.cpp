#include "policies/gandiva.h"

#include <algorithm>
#include <set>

#include "policies/gandiva_packing.h"
#include "policy/placer.h"
#include "policy/queue_policy.h"
#include "policy/rank.h"

namespace sl {
namespace {

struct Settings {
  bool epoch_ring = false;
  bool packing = true, migration = true, grow_shrink = true;
  Duration slice = Duration::whole_seconds(60);
  Duration grow_idle = Duration::whole_seconds(60);
  Duration restart_cost = Duration::whole_seconds(30);
};

bool is_movable(const Job& job) {
  return job.state == JobState::running && job.request.preemptible && job.request.capability == Capability::checkpoint;
}
bool is_sliceable(const Job& job) {
  return job.state == JobState::running && job.request.preemptible && job.request.capability != Capability::none;
}
bool has_tenants_besides(const Snapshot& snapshot, const Job& job) {
  return job.request.shareable && are_shared(snapshot.tenants, job.allocation);
}

// One decision in the making.
class Turn {
 public:
  Turn(const Settings& settings, const Snapshot& snapshot, Plan& plan)
      : settings_(settings), snapshot_(snapshot), plan_(plan), trial_(snapshot.free) {
    for (const JobIndex index : snapshot.active) note(index);
    std::sort(movable_.begin(), movable_.end(), [&](JobIndex a, JobIndex b) { return ran_longer(a, b); });
  }

  // Returns whether the job was served.
  bool serve(JobIndex index) {
    const Job& job = snapshot_.job(index);
    if (start_on_free(index, job)) return true;
    if (must_stay(job)) return slice(index, job);
    return (settings_.grow_shrink && start_by_shrinking(index, job)) ||
           (settings_.migration && start_by_migrating(index, job)) || (settings_.packing && pack(index, job)) ||
           slice(index, job);
  }
  // On the first server where there is room or somebody's epoch has ended.
  bool serve_in_ring(JobIndex index);
  // Ring: what was displaced goes on elsewhere if there is room.
  void settle_displaced();
  void grow();
  void unpack() {
    for (const JobIndex job : to_unpack(snapshot_)) plan_.suspend(job);
  }

  // A job that can only be frozen goes on where it was.
  static bool must_stay(const Job& job) {
    return job.state == JobState::suspended && job.request.capability == Capability::freeze;
  }
  Instant ready_at(const Job& job) const {
    return job.first_start.happened() ? job.waiting_since + quantum(job) : snapshot_.now;
  }
  Instant next() const { return next_; }  // when the next job has had its slice or may claim one
  void look_again_at(Instant at) {
    if (at > snapshot_.now) next_ = std::min(next_, at);
  }

 private:
  bool ran_longer(JobIndex a, JobIndex b) const {
    const Job &ja = snapshot_.job(a), &jb = snapshot_.job(b);
    return std::tie(ja.last_start, ja.request.id) < std::tie(jb.last_start, jb.request.id);
  }
  Duration quantum(const Job& job) const {
    if (!settings_.epoch_ring || !job.request.model || !job.request.model->epochs_total) return settings_.slice;
    const Figure whole = snapshot_.estimates.run_time_s(job, job.request.gpus);
    const int epochs = *job.request.model->epochs_total;
    return whole.known() && whole.value > 0 && epochs > 0 ? Duration::seconds(whole.value / epochs) : settings_.slice;
  }

  void note(JobIndex index);
  void start(JobIndex index, Allocation gpus);
  void displace(JobIndex index);
  bool start_on_free(JobIndex index, const Job& job);
  ServerIndex choose_server(const JobRequest& request) const;
  int affinity(ServerIndex server) const {
    const Server& at = snapshot_.servers[server];
    return trial_.free().on(server) == at.all() - at.outside - at.unavailable ? 0 : at.affinity;
  }
  bool start_by_shrinking(JobIndex index, const Job& job);
  bool start_by_migrating(JobIndex index, const Job& job);
  bool make_room_by_moving(ServerIndex target, int gpus, Duration worth);
  bool pack(JobIndex index, const Job& job);
  bool slice(JobIndex index, const Job& job);
  bool slice_on(JobIndex index, const Job& job, ServerIndex server);
  bool slice_anywhere(JobIndex index, const Job& job);

  const Settings& settings_;
  const Snapshot& snapshot_;
  Plan& plan_;
  Trial trial_;
  std::vector<JobIndex> movable_;                        // may be migrated, ran longest first
  std::vector<JobIndex> grown_;                          // have more than they asked for
  std::set<std::tuple<Instant, JobId, JobIndex>> ripe_;  // have had their slice, ran longest first
  std::vector<std::vector<JobIndex>> ripe_on_;           // by server
  std::vector<JobIndex> displaced_;
  std::set<JobIndex> changed_;  // by this plan
  std::optional<Partners> partners_;
  Instant next_ = Instant::never();
};

void Turn::note(JobIndex index) {
  const Job& job = snapshot_.job(index);
  if (!is_sliceable(job) || has_tenants_besides(snapshot_, job) || !all_usable(snapshot_, job.allocation)) {
    if (job.request.preemptible && job.state != JobState::running) look_again_at(snapshot_.now + quantum(job));
    return;
  }
  if (is_movable(job) && job.allocation.count() > job.request.gpus && may_stay_on(snapshot_, job, job.allocation))
    grown_.push_back(index);
  const Instant ripe = job.last_start + quantum(job);
  if (ripe > snapshot_.now) return look_again_at(ripe);
  if (is_movable(job) && job.request.migratable && job.request.single_server) movable_.push_back(index);
  ripe_.emplace(job.last_start, job.request.id, index);
  for (const ServerGpus& part : job.allocation.parts()) {
    if (part.server.value >= ripe_on_.size()) ripe_on_.resize(part.server.value + 1);
    ripe_on_[part.server.value].push_back(index);
  }
}

void Turn::start(JobIndex index, Allocation gpus) {
  const Job& job = snapshot_.job(index);
  if (gpus.parts().size() == 1 && affinity(gpus.parts().front().server) == 0 &&
      snapshot_.servers[gpus.parts().front().server].affinity != job.request.gpus)
    plan_.dedicate(gpus.parts().front().server, job.request.gpus);
  trial_.take(gpus, job.request.demand);
  look_again_at(snapshot_.now + quantum(job));
  plan_.start(index, std::move(gpus));
}

ServerIndex Turn::choose_server(const JobRequest& request) const {
  const FreeGpus& free = trial_.free();
  ServerIndex alike, empty, any;
  int alike_free = 0;
  for (int n = request.gpus; n <= free.gpus_per_server_max(); ++n) {
    const IndexSet& bucket = free.with_exactly(n);
    for (std::uint32_t s = bucket.next(); s != IndexSet::none; s = bucket.next(s + 1)) {
      const ServerIndex server(s);
      if (!is_eligible(snapshot_.servers[server], request) || !free.fits(server, request.demand)) continue;
      if (!any.valid()) any = server;
      const int size = affinity(server);
      if (size == 0 && (!empty.valid() || server < empty)) empty = server;
      if (size == request.gpus && n > alike_free) {
        alike = server;
        alike_free = n;
      }
    }
  }
  return alike.valid() ? alike : empty.valid() ? empty : any;
}

bool Turn::start_on_free(JobIndex index, const Job& job) {
  const JobRequest& request = job.request;
  if (trial_.free().total() < request.gpus) return false;
  if (must_stay(job)) {
    auto gpus = place_on(trial_.free(), snapshot_.servers, request, request.gpus, job.last_server);
    if (gpus) start(index, std::move(*gpus));
    return gpus.has_value();
  }
  std::optional<Allocation> gpus;
  if (const ServerIndex server = choose_server(request); server.valid()) {
    gpus = Allocation(server, trial_.free().on(server).lowest(request.gpus));
  }
  if (!gpus && !request.single_server) gpus = place(trial_.free(), snapshot_.servers, request, request.gpus);
  if (gpus) start(index, std::move(*gpus));
  return gpus.has_value();
}

bool Turn::serve_in_ring(JobIndex index) {
  const Job& job = snapshot_.job(index);
  if (must_stay(job) || ready_at(job) > snapshot_.now || job.request.gpus > trial_.free().gpus_per_server_max())
    return start_on_free(index, job) || slice(index, job);
  for (std::uint32_t s = 0; s < trial_.free().servers(); ++s) {
    const ServerIndex server(s);
    if (auto gpus = place_on(trial_.free(), snapshot_.servers, job.request, job.request.gpus, server)) {
      start(index, std::move(*gpus));
      return true;
    }
    if (slice_on(index, job, server)) return true;
  }
  return false;
}

bool Turn::start_by_shrinking(JobIndex index, const Job& job) {
  for (auto at = grown_.begin(); at != grown_.end(); ++at) {
    const Job& big = snapshot_.job(*at);
    const std::size_t mark = trial_.mark();
    Allocation kept;
    int left = big.request.gpus;
    for (const ServerGpus& part : big.allocation.parts()) {
      const int here = std::min(left, part.gpus.count());
      if (here > 0) kept.add(part.server, part.gpus.lowest(here));
      left -= here;
    }
    trial_.give(difference(big.allocation, kept));
    auto gpus = place(trial_.free(), snapshot_.servers, job.request, job.request.gpus);
    if (!gpus) {
      trial_.rewind(mark);
      continue;
    }
    changed_.insert(*at);
    plan_.resize(*at, std::move(kept));
    ripe_.erase({big.last_start, big.request.id, *at});
    std::erase(movable_, *at);
    grown_.erase(at);
    start(index, std::move(*gpus));
    return true;
  }
  return false;
}

// The servers with most free GPUs need the fewest moves.
bool Turn::start_by_migrating(JobIndex index, const Job& job) {
  constexpr int servers_tried_max = 4;
  const JobRequest& request = job.request;
  if (!request.single_server || movable_.empty() || trial_.free().total() < request.gpus) return false;
  int tried = 0;
  for (int n = request.gpus - 1; n > 0; --n) {
    const IndexSet bucket = trial_.free().with_exactly(n);
    for (std::uint32_t s = bucket.next(); s != IndexSet::none && tried < servers_tried_max; s = bucket.next(s + 1)) {
      const ServerIndex server(s);
      if (snapshot_.servers[server].description.gpus < request.gpus ||
          !is_eligible(snapshot_.servers[server], request) || !trial_.free().fits(server, request.demand))
        continue;
      ++tried;
      if (!make_room_by_moving(server, request.gpus, settings_.slice * request.gpus)) continue;
      start(index, Allocation(server, trial_.free().on(server).lowest(request.gpus)));
      return true;
    }
  }
  return false;
}

// `worth`: GPU time that may be lost by moving.
bool Turn::make_room_by_moving(ServerIndex target, int gpus, Duration worth) {
  const std::size_t mark = trial_.mark();
  std::vector<std::pair<JobIndex, Allocation>> moves;
  int missing = gpus - trial_.free().count(target);
  trial_.take(Allocation(target, trial_.free().on(target)));  // nobody moves to where room is made
  for (const JobIndex index : movable_) {
    const Job& job = snapshot_.job(index);
    if (missing <= 0) break;
    if (job.allocation.on(target).empty()) continue;
    auto elsewhere = place(trial_.free(), snapshot_.servers, job.request, job.allocation.count());
    if (!elsewhere) continue;
    const JobModel* model = job.request.model.get();
    const Duration cost = model && model->restart_cost ? *model->restart_cost : settings_.restart_cost;
    worth -= cost * job.allocation.count();
    missing -= job.allocation.count();
    trial_.take(*elsewhere, job.request.demand);
    moves.emplace_back(index, std::move(*elsewhere));
  }
  trial_.rewind(mark);
  if (missing > 0 || worth.us < 0) return false;
  for (auto& [index, gpus_there] : moves) {
    const Job& job = snapshot_.job(index);
    trial_.take(gpus_there, job.request.demand);
    trial_.give(job.allocation, job.request.demand);
    ripe_.erase({job.last_start, job.request.id, index});
    std::erase(movable_, index);
    std::erase(grown_, index);
    changed_.insert(index);
    plan_.migrate(index, std::move(gpus_there));
  }
  return true;
}

bool Turn::pack(JobIndex index, const Job& job) {
  if (!job.request.shareable) return false;
  if (!partners_) partners_.emplace(snapshot_);
  const JobIndex partner = partners_->take(snapshot_, job);
  if (!partner.valid()) return false;
  const Job& host = snapshot_.job(partner);
  if (!ripe_.contains({host.last_start, host.request.id, partner}) && host.last_start + quantum(host) <= snapshot_.now)
    return false;  // it has just been displaced or moved
  ripe_.erase({host.last_start, host.request.id, partner});
  std::erase(movable_, partner);
  std::erase(grown_, partner);
  changed_.insert(partner);
  look_again_at(snapshot_.now + quantum(job));
  plan_.share(index, host.allocation);
  return true;
}

void Turn::displace(JobIndex index) {
  const Job& job = snapshot_.job(index);
  ripe_.erase({job.last_start, job.request.id, index});
  std::erase(movable_, index);
  std::erase(grown_, index);
  displaced_.push_back(index);
  changed_.insert(index);
  if (!settings_.epoch_ring) plan_.suspend(index);
}

bool Turn::slice(JobIndex index, const Job& job) {
  if (ready_at(job) > snapshot_.now) {
    look_again_at(ready_at(job));
    return false;
  }
  if (must_stay(job)) return slice_on(index, job, job.last_server);
  ServerIndex last;
  for (auto at = ripe_.begin(); at != ripe_.end(); ++at) {
    const ServerIndex server = snapshot_.job(std::get<JobIndex>(*at)).allocation.parts().front().server;
    if (server == last) continue;
    last = server;
    if (slice_on(index, job, server)) return true;  // and has changed what is ripe
  }
  return !job.request.single_server && slice_anywhere(index, job);
}

// Suspends as many jobs there as are needed, those that ran longest first.
bool Turn::slice_on(JobIndex index, const Job& job, ServerIndex server) {
  if (!server.valid() || server.value >= ripe_on_.size() || !trial_.free().is_open(server)) return false;
  auto& there = ripe_on_[server.value];
  std::erase_if(there, [&](JobIndex i) {
    return !ripe_.contains({snapshot_.job(i).last_start, snapshot_.job(i).request.id, i});
  });
  std::sort(there.begin(), there.end(), [&](JobIndex a, JobIndex b) { return ran_longer(a, b); });
  const std::size_t mark = trial_.mark();
  std::vector<JobIndex> victims;
  std::optional<Allocation> gpus;
  for (std::size_t i = 0; i < there.size() && !gpus; ++i) {
    trial_.give(snapshot_.job(there[i]).allocation, snapshot_.job(there[i]).request.demand);
    victims.push_back(there[i]);
    gpus = place_on(trial_.free(), snapshot_.servers, job.request, job.request.gpus, server);
  }
  if (!gpus) {
    trial_.rewind(mark);
    return false;
  }
  for (std::size_t i = 0; i + 1 < victims.size();) {  // spare whom it does not need
    const Job& spared = snapshot_.job(victims[i]);
    const std::size_t before = trial_.mark();
    trial_.take(spared.allocation, spared.request.demand);
    auto without = place_on(trial_.free(), snapshot_.servers, job.request, job.request.gpus, server);
    if (!without) {
      trial_.rewind(before);
      ++i;
      continue;
    }
    gpus = without;
    victims.erase(victims.begin() + static_cast<std::ptrdiff_t>(i));
  }
  for (const JobIndex victim : victims) displace(victim);
  start(index, std::move(*gpus));
  return true;
}

bool Turn::slice_anywhere(JobIndex index, const Job& job) {
  const std::size_t mark = trial_.mark();
  std::vector<JobIndex> victims;
  std::optional<Allocation> gpus;
  for (const auto& [since, id, candidate] : ripe_) {
    trial_.give(snapshot_.job(candidate).allocation, snapshot_.job(candidate).request.demand);
    victims.push_back(candidate);
    gpus = place(trial_.free(), snapshot_.servers, job.request, job.request.gpus);
    if (gpus) break;
  }
  if (!gpus) {
    trial_.rewind(mark);
    return false;
  }
  for (const JobIndex victim : victims) displace(victim);
  start(index, std::move(*gpus));
  return true;
}

// Those that can move take the place of jobs at the end of an epoch behind them, first server first.
void Turn::settle_displaced() {
  for (std::size_t i = 0; i < displaced_.size(); ++i) {
    const JobIndex index = displaced_[i];
    const Job& job = snapshot_.job(index);
    std::optional<Allocation> gpus;
    if (is_movable(job) && job.request.migratable && job.request.single_server) {
      std::set<ServerIndex> servers;
      for (const auto& [since, id, other] : ripe_) {
        if (std::tie(since, id) > std::tie(job.last_start, job.request.id))
          servers.insert(snapshot_.job(other).allocation.parts().front().server);
      }
      gpus = place_single(trial_.free(), snapshot_.servers, job.request, job.allocation.count(), Fit::first);
      for (auto server = servers.begin(); server != servers.end() && !gpus; ++server) {
        auto& there = ripe_on_[server->value];
        for (const JobIndex other : there) {
          const Job& last = snapshot_.job(other);
          if (other == index || last.allocation.count() != job.allocation.count() ||
              !ripe_.contains({last.last_start, last.request.id, other}) || !ran_longer(index, other))
            continue;
          if (!is_eligible(snapshot_.servers[*server], job.request)) continue;
          trial_.give(last.allocation, last.request.demand);
          displace(other);
          gpus = last.allocation;
          break;
        }
      }
    }
    if (!gpus) {
      plan_.suspend(index);
      continue;
    }
    trial_.take(*gpus, job.request.demand);
    plan_.migrate(index, std::move(*gpus));
  }
}

void Turn::grow() {
  std::vector<JobIndex> elastic;
  for (const JobIndex index : snapshot_.active) {
    const Job& job = snapshot_.job(index);
    if (job.allocation.count() >= job.request.gpus_max || !job.request.preemptible ||
        job.request.capability != Capability::checkpoint || job.allocation.parts().size() != 1 ||
        changed_.contains(index))
      continue;
    const bool runs = job.state == JobState::running;
    const Instant ripe = (runs ? job.last_start : snapshot_.now) + settings_.grow_idle;
    if (ripe > snapshot_.now) look_again_at(ripe);
    if (runs && ripe <= snapshot_.now && !has_tenants_besides(snapshot_, job)) elastic.push_back(index);
  }
  std::sort(elastic.begin(), elastic.end(),
            [&](JobIndex a, JobIndex b) { return submitted_before(snapshot_.job(a), snapshot_.job(b)); });
  for (const JobIndex index : elastic) {
    const Job& job = snapshot_.job(index);
    const ServerIndex server = job.allocation.parts().front().server;
    if (!may_stay_on(snapshot_, job, job.allocation)) continue;
    const int more = std::min(job.request.gpus_max - job.allocation.count(), trial_.free().count(server));
    if (more <= 0) continue;
    const GpuSet added = trial_.free().on(server).lowest(more);
    trial_.take(Allocation(server, added));
    Allocation gpus = job.allocation;
    gpus.add(server, added);
    plan_.resize(index, std::move(gpus));
  }
}

class Gandiva : public QueuePolicy<RankKey> {
 public:
  explicit Gandiva(const Settings& settings) : settings_(settings) {}

  void decide(const Snapshot& snapshot, Plan& plan) override {
    Turn turn(settings_, snapshot, plan);
    if (settings_.packing) turn.unpack();
    bool all_served = true;
    for (Walk walk(lines_); !walk.done();) {
      const JobIndex index = walk.job();
      const bool served = settings_.epoch_ring ? turn.serve_in_ring(index) : turn.serve(index);
      const Job& job = snapshot.job(index);
      all_served = all_served && served;
      // Others of its shape may be served where this one may not: it has waited too short, or is bound to a server.
      if (served || Turn::must_stay(job) || turn.ready_at(job) > snapshot.now || job.request.shareable) {
        walk.next();
      } else {
        walk.close_line();
      }
    }
    if (settings_.epoch_ring) turn.settle_displaced();
    if (all_served && settings_.grow_shrink && !settings_.epoch_ring) turn.grow();
    if (!turn.next().is_never()) plan.wake_at(turn.next());
  }

 protected:
  // Longest waiting first; in the ring, who ran last is last.
  RankKey key_of(const Snapshot&, const Job& job) override {
    Rank rank;
    if (settings_.epoch_ring) {
      rank.minor = job.last_start.us;  // never started: first
    } else {
      rank.minor = job.waiting_since.us;
    }
    return RankKey::of(rank, job);
  }

 private:
  Settings settings_;
};

ParameterInfo switch_parameter(const char* name, const char* help) {
  return {name, ParameterType::boolean, "", "true", 0, 0, {}, help};
}

}  // namespace

PolicyEntry gandiva_entry() {
  PolicyInfo info;
  info.name = "gandiva";
  info.title = "Gandiva";
  info.summary =
      "Jobs take turns on the GPUs in slices of a minute; they are moved together, packed onto shared GPUs and grown "
      "into "
      "idle ones. After the paper from memory.";
  info.good_for = "early results of many jobs at once; exploring hyperparameters";
  info.weak_for = "mean completion time of jobs of like length; jobs that are slow to suspend";
  info.needs = {{Fact::suspendable, "they take no turns: once started they run to their end"},
                {Fact::sharing, "they are never packed onto GPUs of others"},
                {Fact::none, "jobs are not packed", "for packing: GPU memory, and speeds alone and together"}};
  info.preemptive = true;
  info.elastic = true;
  info.parameters = {
      {"mode",
       ParameterType::choice,
       "",
       "slicing",
       0,
       0,
       {"slicing", "epoch_ring"},
       "slicing: the paper's mechanisms; epoch_ring: the report's version, one epoch at a time"},
      {"slice_s", ParameterType::number, "s", "60", 1, 86400, {}, "how long a job runs before it makes room"},
      switch_parameter("packing", "whether jobs that allow it share GPUs"),
      switch_parameter("migration", "whether running jobs are moved to make room"),
      switch_parameter("grow_shrink", "whether jobs that can be resized use idle GPUs of their server"),
      {"grow_idle_s", ParameterType::number, "s", "60", 0, 86400, {}, "a job runs this long before it grows"},
      {"restart_cost_s",
       ParameterType::number,
       "s",
       "30",
       0,
       86400,
       {},
       "what a move costs a job that does not say it"},
  };
  return {std::move(info), [](const Parameters& given) -> std::unique_ptr<Policy> {
            Settings settings;
            settings.epoch_ring = given.text("mode") == "epoch_ring";
            settings.packing = given.boolean("packing");
            settings.migration = given.boolean("migration");
            settings.grow_shrink = given.boolean("grow_shrink");
            settings.slice = Duration::seconds(given.number("slice_s"));
            settings.grow_idle = Duration::seconds(given.number("grow_idle_s"));
            settings.restart_cost = Duration::seconds(given.number("restart_cost_s"));
            return std::make_unique<Gandiva>(settings);
          }};
}

}  // namespace sl
