// Who owns which GPU. The ledger decides ownership, telemetry can only take GPUs away (policies.md 0.3.2). A GPU that
// one job is about to leave can be promised to another: on release it goes straight to its next owner.
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
  ServerIndex find_server(std::string_view name) const;  // none when unknown
  ServerIndex add_server(const ServerDescription& description);
  // Replaces what is known of a server; GPUs in use stay in use. Returns false when it lost GPUs that are held.
  bool describe(ServerIndex server, const ServerDescription& description);
  void set_state(ServerIndex server, ServerState state);
  void set_telemetry(ServerIndex server, const std::vector<GpuFacts>& gpus, GpuSet outside, GpuSet unavailable);
  void set_affinity(ServerIndex server, int gpus_per_job) { servers_[server].affinity = gpus_per_job; }

  // ---- ownership ----
  bool all_free(const Allocation& gpus) const;
  // Every GPU free, or held by a job for which `leaves(job, server, gpu)` says it is going, and promised to nobody.
  bool all_free_or(const Allocation& gpus, const std::function<bool(JobIndex, ServerIndex, int)>& leaves) const;
  // Every GPU's tenants are shareable or none.
  bool all_shareable(const Allocation& gpus, const JobTable& jobs) const;
  bool resources_suffice(const Allocation& gpus, const ResourceVector& demand) const;
  // The same for a job that moves: what it needs on each server of `to` beyond what it has there under `from`.
  bool resources_suffice_to_move(const Allocation& from, const Allocation& to, const ResourceVector& demand) const;

  // Takes what is free and promises the rest. Returns how many GPUs are still awaited.
  int take(JobIndex job, const Allocation& gpus, const ResourceVector& demand, Instant now, bool shared = false);
  // Gives up GPUs. `received(job)` is called for every GPU that went to its next owner. Promises made to `job` for GPUs
  // in `gpus` end too. Returns how many GPUs others may have now, alone or with fewer jobs than before.
  int release(JobIndex job, const Allocation& gpus, const ResourceVector& demand,
              const std::function<void(JobIndex)>& received);
  // While a job moves it holds, on each server, the larger of its needs there before and after. `charge_excess` takes
  // what `to` needs beyond `from`, `give_back_excess` returns it; GPUs are taken and released separately.
  void charge_excess(const Allocation& from, const Allocation& to, const ResourceVector& demand);
  void give_back_excess(const Allocation& from, const Allocation& to, const ResourceVector& demand);

  const ServerTable& servers() const { return servers_; }
  FreeGpus& free() { return free_; }
  const FreeGpus& free() const { return free_; }
  const Tenants& tenants() const { return tenants_; }
  int gpus_in_use() const { return in_use_; }
  template <typename Visit>  // visit(job) for every tenant
  void for_each_tenant(ServerIndex server, int gpu, Visit visit) const {
    for (const JobIndex job : tenants_[server][static_cast<std::size_t>(gpu)].jobs.items()) visit(job);
  }

  // Derives everything from the jobs alone and compares. Ends the process with the sentence that is broken.
  void check_invariants(const JobTable& jobs) const;

 private:
  void publish(ServerIndex server);  // what of it is free, to the index
  GpuSet usable(ServerIndex server) const { return usable_[server]; }
  GpuSet occupied(ServerIndex server) const;
  ResourceVector resources_left(ServerIndex server) const;
  void check_resources(const JobTable& jobs) const;

  ServerTable servers_;
  std::map<std::string, ServerIndex, std::less<>> by_name_;
  IndexedVector<ServerIndex, GpuSet> usable_;  // what telemetry leaves of its GPUs; apart, since asked of every ending
  Tenants tenants_;
  FreeGpus free_;
  int in_use_ = 0;
};

}  // namespace sl
