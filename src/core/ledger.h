// Who owns which GPU. The ledger decides ownership; telemetry can only take GPUs away (policies.md 0.3.2). A GPU that
// one job is about to leave can be promised to another, which gets it directly on release.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "policy/free_gpus.h"
#include "policy/snapshot.h"

namespace sl {

class Ledger {
 public:
  // ---- servers ----
  ServerIndex find_server(std::string_view name) const;  // none: unknown
  bool has_servers() const;                              // that are part of the cluster
  ServerIndex add_server(const ServerDescription& description);
  // Replaces the description of a server; GPUs in use stay in use. Returns false if it lost GPUs that are held.
  bool describe(ServerIndex server, const ServerDescription& description);
  void set_state(ServerIndex server, ServerState state);
  void set_telemetry(ServerIndex server, const std::vector<GpuFacts>& gpus, GpuSet outside, GpuSet unavailable);
  void set_affinity(ServerIndex server, int gpus_per_job) { servers_[server].affinity = gpus_per_job; }

  // ---- ownership ----
  bool all_free(const Allocation& gpus) const;
  // Whether every GPU is free, or held by a job that is leaving it according to `leaves(job, server, gpu)` and not
  // promised to another.
  bool all_free_or(const Allocation& gpus, const std::function<bool(JobIndex, ServerIndex, int)>& leaves) const;
  // Whether all tenants of every GPU, if any, are shareable.
  bool all_shareable(const Allocation& gpus, const JobTable& jobs) const;

  // Takes the free GPUs and promises the rest. Returns how many GPUs are still awaited.
  int take(JobIndex job, const Allocation& gpus, Demand demand, Instant now, bool shared = false);
  // Gives up GPUs. `received(job)` is called for every GPU that went to its next owner. Promises made to `job` for
  // these GPUs end too. Returns how many GPUs other jobs may use now, alone or with fewer neighbours than before.
  int release(JobIndex job, const Allocation& gpus, Demand demand, Instant now,
              const std::function<void(JobIndex)>& received);
  // While a job moves, it holds on each server the larger of its needs before and after. `charge_excess` takes what
  // `to` needs beyond `from`, `give_back_excess` returns it; GPUs are taken and released separately.
  void charge_excess(const Allocation& from, const Allocation& to, Demand demand);
  void give_back_excess(const Allocation& from, const Allocation& to, Demand demand);

  // ---- memory of frozen jobs ----
  // The processes of this job stand still, or will, on these GPUs of one server, and hold so much memory on each.
  void hold_memory(JobIndex job, const Allocation& gpus, std::int64_t bytes);
  bool free_memory(JobIndex job);  // they go on, or are gone; false: it held none

  const ServerTable& servers() const { return servers_; }
  FreeGpus& free() { return free_; }
  const FreeGpus& free() const { return free_; }
  const Tenants& tenants() const { return tenants_; }
  int gpus_in_use() const { return in_use_; }
  // Servers with GPUs of more than one type have joined so far.
  bool has_several_gpu_types() const { return has_several_gpu_types_; }
  template <typename Visit>  // visit(job) for every tenant
  void for_each_tenant(ServerIndex server, int gpu, Visit visit) const {
    for (const JobIndex job : tenants_[server][static_cast<std::size_t>(gpu)].jobs.items()) visit(job);
  }

  // Derives everything from the jobs alone and compares. Ends the process with the violated sentence.
  void check_invariants(const JobTable& jobs) const;

 private:
  void note_type_of(ServerIndex server);
  void publish(ServerIndex server);  // updates the index with what is free there
  // Policies hear nothing of jobs without GPUs: that there is more or less room beside one is a change of its server.
  void publish_if_without_gpus(const Allocation& job) {
    if (!job.empty() && job.parts().front().gpus.empty()) publish(job.parts().front().server);
  }
  GpuSet usable(ServerIndex server) const { return usable_[server]; }
  GpuSet occupied(ServerIndex server) const;
  ResourceVector resources_left(ServerIndex server) const;
  void check_resources(const JobTable& jobs) const;
  std::vector<std::int64_t> frozen_on(ServerIndex server) const;  // bytes on each GPU; empty: nothing anywhere

  ServerTable servers_;
  std::map<std::string, ServerIndex, std::less<>> by_name_;
  IndexedVector<ServerIndex, GpuSet> usable_;  // its GPUs without those that telemetry took away; separate, because
                                               // read at every end of a job
  Tenants tenants_;
  FreeGpus free_;
  struct FrozenMemory {
    ServerGpus gpus;
    std::int64_t bytes;  // on each
  };
  std::map<JobIndex, FrozenMemory> frozen_;  // jobs that hold memory without holding their GPUs
  int in_use_ = 0;
  bool has_several_gpu_types_ = false;
};

}  // namespace sl
