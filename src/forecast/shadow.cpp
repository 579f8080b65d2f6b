#include "forecast/shadow.h"

#include <algorithm>

#include "base/statistics.h"

namespace sl::forecast {
namespace {

// As it stood in line when it was submitted.
Job fresh(const Job& job) {
  Job as_new;
  as_new.request = job.request;
  Prerequisites prerequisites = job.request.prerequisites ? *job.request.prerequisites : Prerequisites{};
  prerequisites.not_before = std::max(prerequisites.not_before, job.request.submitted);
  as_new.request.prerequisites = std::make_shared<const Prerequisites>(std::move(prerequisites));
  as_new.on_hold = job.on_hold;
  as_new.state_since = as_new.waiting_since = job.request.submitted;
  if (job.group) {
    as_new.group = std::make_unique<Group>();
    as_new.group->size = job.group->size;
    as_new.group->first_member = job.group->first_member;
    as_new.group->max_running = job.group->max_running;
    as_new.group->to_come = NumberRanges::below(job.group->size);
  }
  return as_new;
}

void leave_out(Job& job) {
  job.on_hold = true;
  job.state = job.allocation.empty() ? JobState::held : job.state;
}

}  // namespace

ShadowWindow::ShadowWindow(const Present& base) : base_(copy_of(base)) {
  base_.next_wake = base_.now;  // a policy that takes over decides at once
}

void ShadowWindow::submitted(const Job& job) {
  const JobId id = job.request.id;
  const JobId group = job.request.member_of;
  if (base_.find(id) < base_.jobs.size() || (group.valid() && base_.find(group) < base_.jobs.size())) return;
  const auto after = [](const Job& known, JobId wanted) { return known.request.id < wanted; };
  base_.jobs.insert(std::lower_bound(base_.jobs.begin(), base_.jobs.end(), id, after), fresh(job));
}

Lengths::Prospect ShadowWindow::prospect_of(const Job& job, const Present& now, const std::vector<JobFacts>& facts,
                                            const Lengths& lengths) const {
  const double ran_before_s = passed_s(job, base_.now);
  if (const auto over = ended_.find(job.request.id); over != ended_.end()) {
    if (over->second <= 0) return {};
    return {.basis = {.kind = BasisKind::progress}, .ran_since_s = std::max(0.0, over->second - ran_before_s)};
  }
  const std::size_t at = now.find(job.request.id);
  if (at >= now.jobs.size()) return {};
  Lengths::Prospect prospect = lengths.prospect_of(now.jobs[at], facts[at], now.now);
  if (!job.group) prospect.ran_since_s = std::max(0.0, passed_s(now.jobs[at], now.now) - ran_before_s);
  return prospect;
}

ShadowWindow::Replay ShadowWindow::replay(const Present& now, const std::vector<JobFacts>& facts,
                                          const Lengths& lengths) const {
  Replay replay{.present = copy_of(base_), .prospects = {}};
  replay.present.users = now.users;  // names only grow
  replay.present.families = now.families;
  replay.present.gpu_types = now.gpu_types;
  for (Job& job : replay.present.jobs) {
    replay.prospects.push_back(prospect_of(job, now, facts, lengths));
    const std::size_t at = now.find(job.request.id);
    const bool is_held = at < now.jobs.size() && (now.jobs[at].on_hold || now.jobs[at].state == JobState::held);
    if (is_held) replay.prospects.back() = {};
    if (replay.prospects.back().basis.kind == BasisKind::none) leave_out(job);
  }
  return replay;
}

std::vector<int> usable_gpus(const ServerTable& servers) {
  std::vector<int> gpus;
  for (const Server& server : servers) {
    const bool is_up = server.state == ServerState::up;
    gpus.push_back(is_up ? (server.all() - server.unavailable - server.outside).count() : -1);
  }
  return gpus;
}

std::optional<Regret> regret_of(const std::vector<Trial>& trials, Instant at, Instant since) {
  if (trials.size() != 2 || trials[0].failure || trials[1].failure) return std::nullopt;
  const std::size_t futures = std::min(trials[0].costs.size(), trials[1].costs.size());
  if (futures == 0) return std::nullopt;
  Regret regret{.at = at, .since = since, .jobs = trials[0].jobs, .draws = futures};
  std::vector<double> differences;
  for (std::size_t i = 0; i < futures; ++i) {
    const double in_force_s = trials[0].costs[i].jct_s, shadow_s = trials[1].costs[i].jct_s;
    regret.in_force_s += in_force_s / static_cast<double>(futures);
    regret.shadow_s += shadow_s / static_cast<double>(futures);
    differences.push_back(in_force_s - shadow_s);
  }
  std::sort(differences.begin(), differences.end());
  regret.mean_s = regret.in_force_s - regret.shadow_s;
  regret.p10_s = percentile(differences, 0.1);
  regret.p90_s = percentile(differences, 0.9);
  return regret;
}

}  // namespace sl::forecast
