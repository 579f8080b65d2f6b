#include "policies/gang/gang.h"

#include <algorithm>

#include "policy/easy_policy.h"
#include "policy/place_members.h"
#include "policy/placer.h"

namespace sl {
namespace {

struct GangSettings {
  EasySettings easy;
  Duration settle = Duration::whole_seconds(60);
};

class Gang : public EasyPolicy {
 public:
  explicit Gang(const GangSettings& settings) : EasyPolicy(settings.easy), settings_(settings) {}

  void decide(const Snapshot& snapshot, Plan& plan) override {
    Trial trial(snapshot.free);
    if (serve(snapshot, trial, plan)) add_members(snapshot, trial, plan);
    for (Starting& gang : starting()) plan.start(gang.job, std::move(gang.gpus));
  }

 protected:
  int gpus_of(const Job& job) const override { return job.request.gpus_min; }
  std::optional<Allocation> find(const Snapshot& snapshot, const FreeGpus& free, const Job& job) const override {
    return place_gang(snapshot, free, job);
  }

 private:
  static bool hosts_nobody(const Snapshot& snapshot, const FreeGpus& free, ServerIndex server) {
    const Server& at = snapshot.servers[server];
    return free.on(server) == at.all() - at.outside - at.unavailable;
  }

  static std::optional<Allocation> place_gang(const Snapshot& snapshot, const FreeGpus& free, const Job& job) {
    const int members = job.request.gpus_min;
    if (is_frozen(job)) return place(free, snapshot.servers, job, members);
    if (free.total() < members) return std::nullopt;
    if (const ServerIndex server = best_server(snapshot, free, job.request); server.valid())
      return Allocation(
          server, lowest(snapshot.servers[server], free_for(free, snapshot.servers, job.request, server), members));
    if (job.request.single_server()) return std::nullopt;
    std::vector<ServerIndex> order = fullest_first(free);
    std::ranges::stable_partition(order, [&](ServerIndex server) { return hosts_nobody(snapshot, free, server); });
    return place_members(free, snapshot.servers, job.request, members, order);
  }

  // A server for all members: an empty one, else the one with the fewest free GPUs; ties: lowest index.
  static ServerIndex best_server(const Snapshot& snapshot, const FreeGpus& free, const JobRequest& request) {
    const ResourceVector demand = Demand(request).on(request.gpus_min);
    ServerIndex best;
    for (int n = request.gpus_min; n <= free.gpus_per_server_max(); ++n) {
      const IndexSet& bucket = free.with_exactly(n);
      for (std::uint32_t s = bucket.next(); s != IndexSet::none; s = bucket.next(s + 1)) {
        const ServerIndex server(s);
        if (!is_eligible(snapshot.servers[server], request) || !free.fits(server, demand) ||
            free_for(free, snapshot.servers, request, server).count() < request.gpus_min)
          continue;
        if (hosts_nobody(snapshot, free, server)) return server;
        if (!best.valid()) best = server;
      }
    }
    return best;
  }

  // When no job waits: older gangs first; those that start now are the youngest.
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
      Allocation gpus = grown_in_place(trial.free(), snapshot.servers, job.request, job.allocation, job.request.gpus);
      if (gpus.count() == job.allocation.count()) continue;
      trial.take_more(job.allocation, gpus, job.request);
      plan.resize(index, std::move(gpus));
    }
    for (Starting& gang : starting()) {
      const JobRequest& request = snapshot.job(gang.job).request;
      if (is_frozen(snapshot.job(gang.job))) continue;
      Allocation gpus = grown_in_place(trial.free(), snapshot.servers, request, gang.gpus, request.gpus);
      trial.take_more(gang.gpus, gpus, request);
      gang.gpus = std::move(gpus);
      if (gang.gpus.count() < request.gpus && request.capability == Capability::checkpoint && request.preemptible)
        wake = std::min(wake, snapshot.now + settings_.settle);
    }
    if (!wake.is_never()) plan.wake_at(wake);
  }

  GangSettings settings_;
};

}  // namespace

PolicyEntry gang_entry() {
  PolicyInfo info;
  info.name = "gang";
  info.title = "Gang Scheduling";
  info.summary =
      "A job with several members starts with at least its minimum or not at all, on servers of its own where "
      "possible.";
  info.good_for = "distributed jobs, which get stuck when only some of their members run";
  info.weak_for = "tight packing: members keep away from other jobs";
  info.placement = "a server where no other job has a member, if possible";
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
       "backfill: gangs that cannot delay the first one may pass it; strict: none may"},
      {"settle_s", ParameterType::number, "s", "60", 0, 86400, {}, "a gang runs this long before it gets more members"},
  };
  for (ParameterInfo& parameter : EasySettings::parameters()) info.parameters.push_back(std::move(parameter));
  return {std::move(info), [](const Parameters& given) -> std::unique_ptr<Policy> {
            GangSettings settings{EasySettings::of(given), Duration::seconds(given.number("settle_s"))};
            settings.easy.backfill = given.text("when_blocked") == "backfill";
            return std::make_unique<Gang>(settings);
          }};
}

}  // namespace sl
