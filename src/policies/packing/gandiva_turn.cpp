#include "policies/packing/gandiva_turn.h"

#include <algorithm>

namespace sl {

namespace {

bool is_sliceable(const Job& job) { return job.state == JobState::running && may_be_suspended(job); }

}  // namespace

Duration gandiva_epoch(const View& view, const GandivaSettings& settings, const Job& job) {
  if (!job.request.model || !job.request.model->epochs_total) return settings.slice;
  const Figure whole = view.estimates.run_time_s(job, job.request.gpus);
  const int epochs = *job.request.model->epochs_total;
  return whole.known() && whole.value > 0 && epochs > 0 ? Duration::seconds(whole.value / epochs) : settings.slice;
}

Instant gandiva_ready_at(const View& view, const GandivaSettings& settings, const Job& job) {
  return job.first_start.happened() ? job.waiting_since + gandiva_quantum(view, settings, job) : view.now;
}

GandivaTurn::GandivaTurn(const GandivaSettings& settings, SliceEnds& slice_ends, const Snapshot& snapshot, Plan& plan)
    : settings_(settings), slice_ends_(slice_ends), snapshot_(snapshot), plan_(plan), trial_(snapshot.free) {
  for (const JobIndex index : snapshot.active) {
    if (const Instant end = slice_end(index); end > snapshot.now) {
      look_again_at(end);
    } else {
      note(index);
    }
  }
  std::sort(movable_.begin(), movable_.end(), [&](JobIndex a, JobIndex b) { return ran_longer(a, b); });
}

bool GandivaTurn::serve(JobIndex index) {
  const Job& job = snapshot_.job(index);
  if (start_on_free(index, job)) return true;
  if (is_frozen(job)) return slice(index, job);
  return (settings_.grow_shrink && start_by_shrinking(index, job)) ||
         (settings_.migration && start_by_migrating(index, job)) || (settings_.packing && pack(index, job)) ||
         slice(index, job);
}

void GandivaTurn::note(JobIndex index) {
  const Job& job = snapshot_.job(index);
  const bool shares = has_tenants_besides(snapshot_, job);
  if (shares && job.state == JobState::running) sharing_.push_back(index);
  if (!is_sliceable(job) || shares) {
    if (job.request.preemptible && job.state != JobState::running) look_again_at(snapshot_.now + quantum(job));
    return;
  }
  const Instant ripe = job.last_start + quantum(job);
  const bool may_grow = job.request.gpus_max > job.request.gpus;
  const bool is_grown = may_grow && is_movable(job) && job.allocation.count() > job.request.gpus;
  if (ripe > snapshot_.now && !is_grown) {
    if (!may_grow && !job.request.shareable && !settings_.epoch_ring) {
      if (!slice_ends_.contains(index)) slice_ends_.resize(index.value + 1);
      slice_ends_[index] = ripe;
    }
    return look_again_at(ripe);
  }
  if (!all_usable(snapshot_, job.allocation)) return;
  if (is_grown && may_stay_on(snapshot_, job, job.allocation)) grown_.push_back(index);
  if (ripe > snapshot_.now) return look_again_at(ripe);
  if (is_movable(job) && job.request.migratable && job.request.single_server()) movable_.push_back(index);
  ripe_.emplace(job.last_start, job.request.id, index);
  for (const ServerGpus& part : job.allocation.parts()) {
    if (part.server.value >= ripe_on_.size()) ripe_on_.resize(part.server.value + 1);
    ripe_on_[part.server.value].push_back(index);
  }
}

void GandivaTurn::decided(JobIndex index) {
  const Job& job = snapshot_.job(index);
  ripe_.erase({job.last_start, job.request.id, index});
  std::erase(movable_, index);
  std::erase(grown_, index);
  changed_.insert(index);
}

}  // namespace sl
