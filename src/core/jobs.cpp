#include "core/jobs.h"

#include <algorithm>
#include <memory>

namespace sl {

JobIndex Jobs::free_slot(bool needs_gpus) {
  std::vector<JobIndex>& free = free_slots_[needs_gpus];
  if (free.empty()) {
    position_.push_back(0);
    return table_.emplace_back();
  }
  const JobIndex slot = free.back();
  free.pop_back();
  return slot;
}

void Jobs::give_back_slot(JobIndex index) {
  free_slots_[table_[index].request.needs_gpus()].push_back(index);
  std::destroy_at(&table_[index]);
  std::construct_at(&table_[index]);
}

JobIndex Jobs::add(JobRequest&& request) {
  const JobIndex index = free_slot(request.needs_gpus());
  table_[index].request = std::move(request);
  if (by_id_.insert(index).second) return index;
  give_back_slot(index);
  return JobIndex::none();
}

JobIndex Jobs::add(Job&& job) {
  const JobIndex index = table_.push_back(std::move(job));
  position_.push_back(0);
  SL_CHECK(by_id_.insert(index).second, "a restored job is not here yet");
  return index;
}

void Jobs::retire() {
  for (const JobIndex index : ended_) {
    by_id_.erase(index);
    give_back_slot(index);
  }
  ended_.clear();
}

JobIndex Jobs::find(JobId job) const {
  const auto at = by_id_.find(job);
  return at == by_id_.end() ? JobIndex::none() : *at;
}

Job* Jobs::find_attempt(JobId job, int attempt, JobIndex* index, JobIndex guess) {
  *index = table_.contains(guess) && table_[guess].request.id == job ? guess : find(job);
  if (!index->valid()) return nullptr;
  Job& found = table_[*index];
  return is_active(found.state) && found.attempt == attempt ? &found : nullptr;
}

JobIndex Jobs::group_of_member_to_come(JobId member) const {
  // the last group whose members begin no later: the numbers of two groups do not overlap
  const auto after = std::ranges::upper_bound(groups_, member, {}, &OpenGroup::first_member);
  const JobIndex group = after == groups_.begin() ? JobIndex::none() : find(std::prev(after)->id);
  if (!group.valid() || is_finished(table_[group].state)) return JobIndex::none();
  const Group& members = *table_[group].group;
  return members.to_come.contains(member.value - members.first_member.value) ? group : JobIndex::none();
}

void Jobs::fetch(JobIndex index) const {
  sl::fetch(table_[index]);
  __builtin_prefetch(&position_[index]);
}

void Jobs::check_invariants() const {
  std::size_t waiting = 0, aside = 0, active = 0, active_without_gpus = 0;
  for (const JobIndex index : by_id_) {
    const Job& job = table_[index];
    SL_CHECK(find(job.request.id) == index, "the id leads to the job that has it");
    SL_CHECK(!job.set_aside || job.is_queued(), "only a job that waits is set aside");
    if (job.is_queued()) {
      ++(job.set_aside ? aside : waiting);
      SL_CHECK((job.set_aside ? aside_ : waiting_)[position_[index]] == index, "every waiting job is in the queue");
      SL_CHECK(job.allocation.empty(), "a waiting job holds no GPU");
    } else if (is_active(job.state)) {
      const bool has_gpus = job.request.needs_gpus();
      ++(has_gpus ? active : active_without_gpus);
      SL_CHECK((has_gpus ? active_ : active_without_gpus_)[position_[index]] == index,
               "every active job is in the list of active jobs");
      SL_CHECK(has_gpus || job.allocation.count() == 0, "a job that needs no GPU has none");
      // A suspended job that is being stopped has already given up its GPUs.
      SL_CHECK(!job.allocation.empty() || job.state == JobState::stopping,
               "an active job has GPUs or is promised them, or has a server");
    }
  }
  SL_CHECK(waiting == waiting_.size() && aside == aside_.size() && active == active_.size() &&
               active_without_gpus == active_without_gpus_.size(),
           "the queue and the lists of active jobs hold nothing else");
  const auto without_gpus =
      std::ranges::count_if(aside_, [this](JobIndex index) { return !table_[index].request.needs_gpus(); });
  SL_CHECK(std::cmp_equal(without_gpus, aside_without_gpus_.size()),
           "the jobs without GPUs that are set aside are known");
  for (WaitingLines<ArrivalKey>::Walk walk(aside_without_gpus_); !walk.done(); walk.next()) {
    const Job& job = table_[walk.job()];
    SL_CHECK(job.set_aside && walk.key() == ArrivalKey::of(job), "they stand in the order in which they are served");
    Shapes shapes = aside_without_gpus_.shapes();
    SL_CHECK(shapes.intern(job, job.request.gpus_min, Spread::few) == walk.shape(), "each among those like it");
  }
}

}  // namespace sl
