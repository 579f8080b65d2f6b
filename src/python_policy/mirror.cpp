#include "python_policy/mirror.h"

#include "model/names.h"

namespace sl::python_policy {
namespace {

namespace json = boost::json;

constexpr const char* triggers[] = {"arrival", "ending", "cluster", "timer", "policy", "progress"};

json::value when(Instant at) { return at.happened() && !at.is_never() ? json::value(at.us) : json::value(nullptr); }

json::value estimate(const Snapshot& snapshot, const Job& job) {
  const Figure figure = snapshot.estimates.run_time_s(job, job.request.gpus);
  return figure.known() ? json::value(figure.value) : json::value(nullptr);
}

// In the order of Mirror.put in policy_host.py.
json::array row(const Snapshot& snapshot, JobIndex index) {
  const Job& job = snapshot.job(index);
  const JobRequest& asked = job.request;
  json::array servers;
  for (const ServerGpus& part : job.allocation.parts()) servers.push_back(part.server.value);
  return {index.value,
          asked.id.value,
          asked.submitted.us,
          to_string(job.state),
          snapshot.users.text(asked.user),
          asked.priority,
          asked.gpus,
          asked.gpus_min,
          asked.gpus_max,
          asked.preemptible && asked.capability == Capability::checkpoint,
          asked.single_server(),
          job.attempt,
          job.preemptions,
          when(job.waiting_since),
          when(job.first_start),
          when(job.last_start),
          when(asked.deadline),
          estimate(snapshot, job),
          job.run.us,
          job.attained_gpu_us,
          job.accounted.happened() ? job.accounted.us : snapshot.now.us,
          job.allocation.count(),
          std::move(servers)};
}

// It is in one of the two lists of the snapshot.
bool is_told(const Job& job) {
  return job.request.id.valid() && (job.is_waiting() || (is_active(job.state) && job.state != JobState::suspended));
}

}  // namespace

void Mirror::forget() {
  knows_nothing_ = true;
  entries_.clear();
  touched_.clear();
  servers_.clear();
}

void Mirror::touch(JobIndex job) {
  while (!entries_.contains(job)) entries_.push_back({});
  if (std::exchange(entries_[job].touched, true)) return;
  touched_.push_back(job);
}

json::object Mirror::update(const Snapshot& snapshot) {
  if (std::exchange(knows_nothing_, false)) {
    for (const JobIndex job : snapshot.waiting) touch(job);
    for (const JobIndex job : snapshot.active) touch(job);
  }
  touch_changed(snapshot);
  json::array jobs, gone;
  for (const JobIndex index : touched_) {
    Entry& entry = entries_[index];
    entry.touched = false;
    if (is_told(snapshot.job(index))) {
      jobs.push_back(row(snapshot, index));
      entry.told = true;
      entry.state = snapshot.job(index).state;
      entry.gpus = snapshot.job(index).allocation.count();
    } else if (std::exchange(entry.told, false)) {
      gone.push_back(index.value);
    }
  }
  touched_.clear();
  return {{"now", snapshot.now.us},
          {"trigger", triggers[static_cast<std::size_t>(snapshot.trigger)]},
          {"jobs", std::move(jobs)},
          {"gone", std::move(gone)},
          {"servers", changed_servers(snapshot)}};
}

// The core gives no notice when a job begins to move or to resize.
void Mirror::touch_changed(const Snapshot& snapshot) {
  for (const JobIndex index : snapshot.active) {
    const Job& job = snapshot.job(index);
    if (!knows(index) || entries_[index].state != job.state || entries_[index].gpus != job.allocation.count())
      touch(index);
  }
}

json::array Mirror::changed_servers(const Snapshot& snapshot) {
  json::array changed;
  servers_.resize(snapshot.servers.size());
  for (std::uint32_t i = 0; i < snapshot.servers.size(); ++i) {
    const Server& server = snapshot.servers[ServerIndex(i)];
    const int usable = (server.all() - server.unavailable - server.outside).count();
    const int free = snapshot.free.is_open(ServerIndex(i)) ? snapshot.free.count(ServerIndex(i)) : 0;
    const Told now{server.state, usable, free};
    if (now == std::exchange(servers_[i], now)) continue;
    changed.push_back(json::array{i, server.description.name, to_string(server.state), usable, free});
  }
  return changed;
}

}  // namespace sl::python_policy
