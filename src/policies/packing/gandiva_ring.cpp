// The simplified version of report S002: one epoch at a time, on whichever server becomes free first.
#include <algorithm>

#include "policies/packing/gandiva_turn.h"
#include "policy/placer.h"

namespace sl {

bool GandivaTurn::serve_in_ring(JobIndex index) {
  const Job& job = snapshot_.job(index);
  if (is_frozen(job) || ready_at(job) > snapshot_.now || job.request.gpus > trial_.free().gpus_per_server_max())
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

// Jobs that can move take the place of jobs behind them that are at the end of an epoch, first server first.
void GandivaTurn::settle_displaced() {
  std::vector<Move> moves;
  for (std::size_t i = 0; i < displaced_.size(); ++i) {  // it grows during the loop
    const JobIndex index = displaced_[i];
    auto gpus = place_displaced(index);
    if (!gpus) {
      suspend(index);
      continue;
    }
    trial_.take(*gpus, snapshot_.job(index).request);
    moves.push_back({index, std::move(*gpus)});
  }
  migrate(std::move(moves));
}

// Each after those whose GPUs it gets. Where several wait for one another in a circle, one of them makes room.
void GandivaTurn::migrate(std::vector<Move> moves) {
  const auto needs_others = [&](const Move& move) {
    return std::ranges::any_of(moves, [&](const Move& other) {
      const Allocation& held = snapshot_.job(other.job).allocation;
      return other.job != move.job && difference(move.gpus, held) != move.gpus;
    });
  };
  while (!moves.empty()) {
    const auto next = std::ranges::find_if_not(moves, needs_others);
    next == moves.end() ? suspend(moves.back().job) : plan_.migrate(next->job, std::move(next->gpus));
    moves.erase(next == moves.end() ? next - 1 : next);
  }
}

std::optional<Allocation> GandivaTurn::place_displaced(JobIndex index) {
  const Job& job = snapshot_.job(index);
  if (!is_movable(job) || !job.request.migratable || !job.request.single_server()) return std::nullopt;
  std::set<ServerIndex> servers;
  for (const auto& [since, id, other] : ripe_) {
    if (std::tie(since, id) > std::tie(job.last_start, job.request.id))
      servers.insert(snapshot_.job(other).allocation.parts().front().server);
  }
  auto gpus = place_single(trial_.free(), snapshot_.servers, job.request, job.allocation.count(), Fit::first);
  for (auto server = servers.begin(); server != servers.end() && !gpus; ++server) gpus = succeed_on(index, *server);
  return gpus;
}

// Displaces a job of the same size on that server that started later.
std::optional<Allocation> GandivaTurn::succeed_on(JobIndex index, ServerIndex server) {
  const Job& job = snapshot_.job(index);
  if (!is_eligible(snapshot_.servers[server], job.request)) return std::nullopt;
  for (const JobIndex other : ripe_on_[server.value]) {
    const Job& last = snapshot_.job(other);
    if (other == index || last.allocation.count() != job.allocation.count() || !is_ripe(other) ||
        !ran_longer(index, other) || !can_leave_memory_to(job, last))
      continue;
    trial_.give(last.allocation, last.request);
    displace(other, job);
    return last.allocation;
  }
  return std::nullopt;
}

}  // namespace sl
