// A job starts on free GPUs, preferably on a server dedicated to jobs of its size.
#include "policies/packing/gandiva_turn.h"
#include "policy/placer.h"

namespace sl {

void GandivaTurn::start(JobIndex index, Allocation gpus) {
  const Job& job = snapshot_.job(index);
  if (gpus.parts().size() == 1 && affinity(gpus.parts().front().server) == 0 &&
      snapshot_.servers[gpus.parts().front().server].affinity != job.request.gpus)
    plan_.dedicate(gpus.parts().front().server, job.request.gpus);
  trial_.take(gpus, job.request);
  look_again_at(snapshot_.now + quantum(job));
  plan_.start(index, std::move(gpus));
}

// GPUs per job the server is dedicated to; 0: none, or it is empty.
int GandivaTurn::affinity(ServerIndex server) const {
  const Server& at = snapshot_.servers[server];
  return trial_.free().on(server) == at.all() - at.outside - at.unavailable ? 0 : at.affinity;
}

// Where it ran before, since it goes on in place there (in the ring its checkpoint is fetched anyway); else by affinity.
ServerIndex GandivaTurn::choose_server(const Job& job) const {
  const FreeGpus& free = trial_.free();
  const JobRequest& request = job.request;
  const auto has_room = [&](ServerIndex server) {
    return is_eligible(snapshot_.servers[server], request) && free.fits(server, Demand(request).on(request.gpus)) &&
           free_for(free, snapshot_.servers, request, server).count() >= request.gpus;
  };
  const bool ran = !settings_.epoch_ring && job.last_server.valid();
  if (ran && free.is_open(job.last_server) && has_room(job.last_server)) return job.last_server;
  ServerIndex alike, empty, any;
  int alike_free = 0;
  for (int n = request.gpus; n <= free.gpus_per_server_max(); ++n) {
    const IndexSet& bucket = free.with_exactly(n);
    for (std::uint32_t s = bucket.next(); s != IndexSet::none; s = bucket.next(s + 1)) {
      const ServerIndex server(s);
      if (!has_room(server)) continue;
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

bool GandivaTurn::start_on_free(JobIndex index, const Job& job) {
  const JobRequest& request = job.request;
  if (trial_.free().total() < request.gpus) return false;
  std::optional<Allocation> gpus;
  if (is_frozen(job)) {
    gpus = place(trial_.free(), snapshot_.servers, job, request.gpus);
  } else if (const ServerIndex server = choose_server(job); server.valid()) {
    const GpuSet there = free_for(trial_.free(), snapshot_.servers, request, server);
    gpus = Allocation(server, lowest(snapshot_.servers[server], there, request.gpus));
  }
  if (!gpus && !request.single_server()) gpus = place(trial_.free(), snapshot_.servers, job, request.gpus);
  if (gpus) start(index, std::move(*gpus));
  return gpus.has_value();
}

}  // namespace sl
