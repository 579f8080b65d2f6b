#include "core/line_gate.h"

#include <algorithm>
#include <utility>

#include "policy/placer.h"
#include "policy/satisfiable.h"

namespace sl {

void LineGate::look() const {
  if (!std::exchange(is_stale_, false)) return;
  any_up_ = false;
  most_ = total_ = 0;
  cpus_ = 0;
  possible_.clear();
  for (const Server& server : ledger_.servers()) {
    if (server.state != ServerState::up) continue;
    const int gpus = (server.all() - server.unavailable).count();
    any_up_ = any_up_ || server.description.gpus > 0;
    most_ = std::max(most_, gpus);
    total_ += gpus;
    cpus_ += server.description.limits()[Resource::cpu];
  }
}

bool LineGate::is_possible(const JobRequest& request, int gpus) {
  const bool any_or_one = request.single_server() || request.servers_max == any_number_of_servers;
  if (any_or_one && request.takes_any_server() && request.demand.is_zero())
    return gpus <= (request.single_server() ? most_ : total_);
  const std::uint32_t shape = shapes_.intern(request, gpus, Spread::few);
  if (shape >= possible_.size()) possible_.resize(shape + 1, -1);
  signed char& known = possible_[shape];
  if (known < 0) known = could_run_now(ledger_.servers(), request, gpus).possible() ? 1 : 0;
  return known > 0;
}

// Whether a frozen job can continue there.
bool LineGate::is_intact(const Allocation& gpus) const {
  return std::ranges::all_of(gpus.parts(), [this](const ServerGpus& part) {
    const Server& server = ledger_.servers()[part.server];
    return server.state == ServerState::up && (server.all() - server.unavailable).contains(part.gpus);
  });
}

bool LineGate::awaits_jobs(const JobRequest& request) const {
  if (!request.prerequisites) return false;
  const auto is_open = [this](JobId id) {
    const JobIndex index = jobs_.find(id);
    return index.valid() ? !is_finished(jobs_[index].state) : jobs_.group_of_member_to_come(id).valid();
  };
  return std::ranges::any_of(request.prerequisites->after, is_open) ||
         std::ranges::any_of(request.prerequisites->after_any, is_open);
}

bool LineGate::is_fulfilled(const JobRequest& request, Instant now) const {
  return now >= request.prerequisites->not_before && !awaits_jobs(request);
}

// As far as it depends on the job itself and on other jobs.
bool LineGate::may_start(const Job& job, Instant now) const {
  if (job.on_hold || job.group || !is_ready(job.request, now)) return false;
  const JobIndex group = job.request.member_of.valid() ? jobs_.find(job.request.member_of) : JobIndex::none();
  return !group.valid() || (!jobs_[group].on_hold && !is_over_limit(job, jobs_[group]));
}

bool LineGate::is_over_limit(const Job& member, const Job& group) {
  return member.attempt == 0 && group.group && group.group->place(member.request.id) > group.group->last_admitted;
}

int LineGate::at_once(const JobRequest& request) const {
  look();
  constexpr double most = 1000;  // of servers whose CPUs are not known
  if (request.needs_gpus()) return total_ / std::max(1, request.gpus_min);
  return static_cast<int>(std::min(most, cpus_ / std::max(1.0, request.demand[Resource::cpu])));
}

bool LineGate::could_start(const Job& job, const Policy* policy, Instant now) {
  if (!may_start(job, now)) return false;
  look();
  if (!any_up_) return true;
  if (is_frozen(job)) return is_intact(*job.frozen_on);
  return has_all_members(job.request) && is_possible(job.request, gpus_of(job, policy));
}

bool LineGate::admits_afresh(const Job& job, const Policy* policy, Instant now) const {
  LineGate fresh(ledger_, jobs_);
  fresh.refresh();
  return fresh.admits(job, policy, now);
}

}  // namespace sl
