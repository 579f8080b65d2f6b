#include "policies/fifo.h"

#include "policy/ordered_jobs.h"
#include "policy/placer.h"

namespace sl {
namespace {

struct Settings {
  bool exclusive = true;
  double theta_pct = 90;
  int share_max = 1;
  Duration settle = Duration::whole_seconds(15);
};

class Fifo : public Policy {
 public:
  explicit Fifo(const Settings& settings) : settings_(settings) {}

  void attach(const Snapshot& snapshot) override {
    queue_.clear();
    for (const JobIndex job : snapshot.waiting) queue_.insert(job, ArrivalKey::of(snapshot.job(job)));
  }

  void notice(const Snapshot& snapshot, NoticeKind kind, JobIndex job) override {
    const ArrivalKey key = ArrivalKey::of(snapshot.job(job));
    if (kind == NoticeKind::waiting) queue_.insert(job, key);
    if (kind == NoticeKind::active || kind == NoticeKind::ended) queue_.erase(job, key);
  }

  void decide(const Snapshot& snapshot, Plan& plan) override {
    Trial trial(snapshot.free);
    Tenants placed(settings_.exclusive ? 0 : snapshot.servers.size());
    for (const auto& [key, index] : queue_) {
      const JobRequest& request = snapshot.job(index).request;
      const bool shares = !settings_.exclusive && request.shareable;
      const auto gpus = shares ? place_on_usable(snapshot, request, placed)
                               : place(trial.free(), snapshot.servers, request, request.gpus);
      if (!gpus) {
        wake_when_settled(snapshot, shares, plan);
        return;
      }
      if (shares) {
        note_tenants(*gpus, placed);
        plan.share(index, *gpus);
      } else {
        trial.take(*gpus, request.demand);
        plan.start(index, *gpus);
      }
    }
  }

  std::vector<JobIndex> queue_order(const Snapshot&) const override {
    std::vector<JobIndex> order;
    for (const auto& [key, index] : queue_) order.push_back(index);
    return order;
  }

 private:
  using Tenants = std::vector<std::vector<int>>;  // added by this plan, by server and GPU

  bool is_usable(const Snapshot& snapshot, const GpuFacts& gpu, int added) const {
    const int tenants = gpu.tenants + added;
    if (tenants >= settings_.share_max) return false;
    if (added > 0) return false;  // it has just got a tenant: its utilization is not known yet
    if (gpu.utilization_pct && *gpu.utilization_pct >= settings_.theta_pct) return false;
    if (!gpu.tenant_started.happened()) return true;
    const Instant settled = gpu.tenant_started + settings_.settle;
    return snapshot.now >= settled || (gpu.sampled.happened() && gpu.sampled > settled);
  }

  std::optional<Allocation> place_on_usable(const Snapshot& snapshot, const JobRequest& request,
                                            const Tenants& placed) const {
    for (std::size_t s = 0; s < snapshot.servers.size(); ++s) {
      const ServerIndex index(static_cast<std::uint32_t>(s));
      const Server& server = snapshot.servers[index];
      if (server.state != ServerState::up || !is_eligible(server, request)) continue;
      GpuSet usable;
      for (std::size_t g = 0; g < server.gpus.size(); ++g) {
        const int added = placed[s].empty() ? 0 : placed[s][g];
        if (is_usable(snapshot, server.gpus[g], added)) usable |= GpuSet::only(static_cast<int>(g));
      }
      usable -= server.outside | server.unavailable;
      if (usable.count() >= request.gpus) return Allocation(index, usable.lowest(request.gpus));
    }
    return std::nullopt;
  }

  static void note_tenants(const Allocation& gpus, Tenants& placed) {
    for (const ServerGpus& part : gpus.parts()) {
      auto& server = placed[part.server.value];
      server.resize(GpuSet::capacity, 0);
      part.gpus.for_each([&](int gpu) { ++server[static_cast<std::size_t>(gpu)]; });
    }
  }

  void wake_when_settled(const Snapshot& snapshot, bool shares, Plan& plan) const {
    if (shares) plan.wake_at(snapshot.now + settings_.settle);
  }

  Settings settings_;
  OrderedJobs<ArrivalKey> queue_;
};

}  // namespace

PolicyEntry fifo_entry() {
  PolicyInfo info;
  info.name = "fifo";
  info.title = "FIFO";
  info.summary =
      "First come, first served: the job at the head of the line starts as soon as one server has enough usable GPUs, "
      "and nobody overtakes it.";
  info.good_for = "fairness everybody understands; light load";
  info.weak_for = "a wide job at the head leaves GPUs idle behind it";
  info.aliases = {"fifo_strict", "fifo_util"};
  info.parameters = {
      {"preset",
       ParameterType::choice,
       "",
       "exclusive",
       0,
       0,
       {"exclusive", "seed"},
       "exclusive: one job a GPU; seed: the thesis's rule, GPUs below theta are shared by jobs that allow it"},
      {"theta", ParameterType::number, "%", "90", 0, 100, {}, "seed: a GPU at or above this utilization is not usable"},
      {"share_max", ParameterType::integer, "jobs", "64", 1, 64, {}, "seed: at most this many jobs on one GPU"},
      {"settle_s",
       ParameterType::number,
       "s",
       "15",
       0,
       3600,
       {},
       "seed: how long a new job's GPUs are left alone until their utilization is believed"},
  };
  auto make = [](const Parameters& given) -> std::unique_ptr<Policy> {
    Settings settings;
    settings.exclusive = given.text("preset") == "exclusive";
    settings.theta_pct = given.number("theta");
    settings.share_max = given.integer("share_max");
    settings.settle = Duration::seconds(given.number("settle_s"));
    return std::make_unique<Fifo>(settings);
  };
  return {std::move(info), make};
}

}  // namespace sl
