#include "policies/queue/fifo.h"

#include <algorithm>

#include "policy/placer.h"
#include "policy/queue_policy.h"

namespace sl {
namespace {

struct FifoSettings {
  bool exclusive = true;
  double theta_pct = 90;
  int share_max = 1;
  Duration settle = Duration::whole_seconds(15);
};

class Fifo : public ArrivalPolicy {
 public:
  explicit Fifo(const FifoSettings& settings) : settings_(settings) {}

  void decide(const Snapshot& snapshot, Plan& plan) override {
    if (lines_.empty()) return;
    Trial trial(snapshot.free);
    Busy busy(settings_.exclusive ? 0 : snapshot.servers.size());
    if (!settings_.exclusive) note_unshared(snapshot, busy);
    for (Walk walk(lines_);;) {
      const JobIndex index = walk.job();
      if (const JobIndex next = walk.next_in_line(); next.valid()) {
        fetch(snapshot.job(next));
        lines_.fetch(next);
      }
      const JobRequest& request = snapshot.job(index).request;
      const bool shares = !settings_.exclusive && request.shareable && !is_frozen(snapshot.job(index));
      const auto gpus = shares ? place_on_usable(snapshot, trial.free(), request, busy)
                               : place(trial.free(), snapshot.servers, snapshot.job(index), request.gpus);
      if (!gpus) return wake_when_settled(snapshot, shares, plan);
      shares ? plan.share(index, *gpus) : plan.start(index, *gpus);
      walk.next();
      if (walk.done()) return;  // nearly always: what else is free no longer matters then
      shares ? take_free_part(*gpus, request, trial) : trial.take(*gpus, request);
      if (!settings_.exclusive) note(*gpus, busy);
    }
  }

 protected:
  bool has_line_per_shape() const override { return false; }

 private:
  // By server: GPUs that got a tenant in this plan, whose utilization is not known yet, and those whose tenant does not
  // share.
  using Busy = std::vector<GpuSet>;

  static void note(const Allocation& gpus, Busy& busy) {
    for (const ServerGpus& part : gpus.parts()) busy[part.server.value] |= part.gpus;
  }
  static void note_unshared(const Snapshot& snapshot, Busy& busy) {
    for (const JobIndex index : snapshot.active) {
      const Job& job = snapshot.job(index);
      if (job.request.shareable) continue;
      note(job.allocation, busy);
      note(job.target, busy);
    }
  }
  // GPUs that will be shared are no longer free for jobs that want theirs alone. CPUs and memory are not shared.
  static void take_free_part(const Allocation& gpus, const JobRequest& request, Trial& trial) {
    for_each_share(gpus, request, [&](const ServerGpus& part, const ResourceVector& needed) {
      trial.take(part.server, part.gpus & trial.free().on(part.server), needed);
    });
  }

  bool is_usable(const Snapshot& snapshot, const GpuFacts& gpu, const Tenancy& of) const {
    if (of.count() >= settings_.share_max) return false;
    if (gpu.utilization_pct && *gpu.utilization_pct >= settings_.theta_pct) return false;
    if (of.count() == 0 || !of.started.happened()) return true;
    const Instant settled = of.started + settings_.settle;
    return snapshot.now >= settled || (gpu.sampled.happened() && gpu.sampled > settled);
  }

  // `free`: after the plan so far.
  std::optional<Allocation> place_on_usable(const Snapshot& snapshot, const FreeGpus& free, const JobRequest& request,
                                            const Busy& busy) const {
    for (std::uint32_t s = 0; s < snapshot.servers.size(); ++s) {
      const Server& server = snapshot.servers[ServerIndex(s)];
      if (server.state != ServerState::up || !is_eligible(server, request)) continue;
      if (!free.fits(ServerIndex(s), Demand(request).on(request.gpus))) continue;
      GpuSet usable;
      for (std::size_t g = 0; g < server.gpus.size(); ++g) {
        if (is_usable(snapshot, server.gpus[g], snapshot.tenants[ServerIndex(s)][g]))
          usable |= GpuSet::only(static_cast<int>(g));
      }
      usable -= server.outside | server.unavailable | busy[s];
      usable = roomy(server, usable, request.gpu_memory_bytes);
      if (usable.count() >= request.gpus) return Allocation(ServerIndex(s), lowest(server, usable, request.gpus));
    }
    return std::nullopt;
  }

  // Utilization falls without an event, so look again, as long as GPUs are used.
  void wake_when_settled(const Snapshot& snapshot, bool shares, Plan& plan) const {
    const bool some_run = !snapshot.active.empty() || !plan.decisions().empty();
    const bool are_used = some_run || std::ranges::any_of(snapshot.servers, [&](const Server& server) {
                            return std::ranges::any_of(server.gpus, [&](const GpuFacts& gpu) {
                              return gpu.utilization_pct.value_or(0) >= settings_.theta_pct;
                            });
                          });
    if (shares && are_used) plan.wake_at(snapshot.now + settings_.settle);
  }

  FifoSettings settings_;
};

}  // namespace

PolicyEntry fifo_entry() {
  PolicyInfo info;
  info.name = "fifo";
  info.title = "FIFO";
  info.summary =
      "First come, first served: the job at the head of the line starts as soon as one server has enough usable GPUs, "
      "and no job overtakes it.";
  info.good_for = "fairness that everyone understands; light load";
  info.weak_for = "a wide job at the head leaves GPUs idle behind it";
  info.placement =
      "the server with the fewest free GPUs that suffice; with sharing, the first whose GPUs are used little enough";
  info.needs = {{Fact::none, "only unused GPUs are usable", "GPU utilization, for preset=seed"}};
  info.aliases = {"fifo_util", "fifo_strict"};
  info.parameters = {
      {"preset",
       ParameterType::choice,
       "",
       "exclusive",
       0,
       0,
       {"exclusive", "seed"},
       "exclusive: one job per GPU; seed: the thesis's rule, jobs that allow it share GPUs below theta"},
      {"theta", ParameterType::number, "%", "90", 0, 100, {}, "seed: a GPU at or above this utilization is not usable"},
      {"share_max", ParameterType::integer, "jobs", "64", 1, 64, {}, "seed: at most this many jobs on one GPU"},
      {"settle_s",
       ParameterType::number,
       "s",
       "15",
       0,
       3600,
       {},
       "seed: how long a new job's GPUs are left alone until their utilization counts"},
  };
  auto make = [](const Parameters& given) -> std::unique_ptr<Policy> {
    FifoSettings settings;
    settings.exclusive = given.text("preset") == "exclusive";
    settings.theta_pct = given.number("theta");
    settings.share_max = given.integer("share_max");
    settings.settle = Duration::seconds(given.number("settle_s"));
    return std::make_unique<Fifo>(settings);
  };
  return {std::move(info), make};
}

}  // namespace sl
