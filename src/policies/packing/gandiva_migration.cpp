// Small jobs move together so that one server has room for a wide one.
#include "policies/packing/gandiva_turn.h"
#include "policy/placer.h"

namespace sl {

// Whichever of its GPUs become free.
static bool has_memory_everywhere(const Server& server, const JobRequest& request) {
  return roomy(server, server.all(), request.gpu_memory_bytes) == server.all();
}

// The servers with the most free GPUs need the fewest moves.
bool GandivaTurn::start_by_migrating(JobIndex index, const Job& job) {
  constexpr int servers_tried_max = 4;
  const JobRequest& request = job.request;
  if (!request.single_server() || movable_.empty() || trial_.free().total() < request.gpus) return false;
  int tried = 0;
  for (int n = request.gpus - 1; n > 0; --n) {
    const IndexSet bucket = trial_.free().with_exactly(n);
    for (std::uint32_t s = bucket.next(); s != IndexSet::none && tried < servers_tried_max; s = bucket.next(s + 1)) {
      const ServerIndex server(s);
      if (snapshot_.servers[server].description.gpus < request.gpus ||
          !is_eligible(snapshot_.servers[server], request) ||
          !has_memory_everywhere(snapshot_.servers[server], request) ||
          !trial_.free().fits(server, Demand(request).on(request.gpus)))
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
bool GandivaTurn::make_room_by_moving(ServerIndex target, int gpus, Duration worth) {
  const std::size_t mark = trial_.mark();
  std::vector<std::pair<JobIndex, Allocation>> moves;
  int missing = gpus - trial_.free().count(target);
  trial_.take(Allocation(target, trial_.free().on(target)));  // no job moves to the server where room is made
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
    trial_.take(*elsewhere, job.request);
    moves.emplace_back(index, std::move(*elsewhere));
  }
  trial_.rewind(mark);
  if (missing > 0 || worth.us < 0) return false;
  for (auto& [index, gpus_there] : moves) {
    const Job& job = snapshot_.job(index);
    trial_.take(gpus_there, job.request);
    trial_.give(job.allocation, job.request);
    decided(index);
    plan_.migrate(index, std::move(gpus_there));
  }
  return true;
}

}  // namespace sl
