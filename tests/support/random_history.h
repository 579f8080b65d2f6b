// Histories drawn from a seed: jobs of every kind (elastic, gangs, shareable, with deadlines, users, GPU types,
// budgets, measured and unmeasured), servers of several types that join, fall silent and leave, telemetry, edits,
// cancellations. The same seed gives the same events under every policy, as long as the policies leave the same jobs.
//
//   RandomHistory history(seed, Cluster::make("srtf"));
//   for (int i = 0; i < 100; ++i) history.step();
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "support/cluster.h"
#include "support/random_curve.h"

namespace sl::test {

inline std::shared_ptr<const JobModel> random_model(Random& random, const JobRequest& request) {
  auto model = std::make_shared<JobModel>();
  model->speed_curve = random_curve(random);
  if (random.chance(0.3)) {  // a gang: its roles add up to its GPUs
    const int workers_min = request.gpus_min - request.gpus_min / 2;
    model->roles = {{"worker", workers_min, request.gpus_max - request.gpus_min / 2, 1, {}}};
    if (request.gpus_min > 1) model->roles.push_back({"server", request.gpus_min / 2, request.gpus_min / 2, 1, {}});
  }
  if (random.chance(0.3)) model->target_loss = random.uniform(0.1, 0.6);
  if (random.chance(0.2)) model->budget = random.uniform(0.1, 20);
  if (random.chance(0.3)) model->restart_cost = Duration::whole_seconds(random.integer(0, 60));
  if (random.chance(0.4)) model->gpu_memory_bytes = random.integer(1, 12);
  if (random.chance(0.4)) model->gpu_utilization_pct = random.uniform(5, 100);
  if (random.chance(0.3)) model->epochs_total = static_cast<int>(random.integer(1, 50));
  if (random.chance(0.3)) {  // the input of the drift-plus-penalty rule
    model->steps_total = random.integer(1, 5000);
    model->step_time_fixed_s = random.uniform(0, 0.2);
    model->step_time_per_sample_s = random.uniform(0, 0.01);
    model->batch_size = 64;
    model->parameter_bytes = random.integer(0, 1'000'000'000);
    if (random.chance(0.5)) model->largest_tensor_bytes = random.integer(0, *model->parameter_bytes);
  }
  return model;
}

// A scheduler and workers, and sometimes parameter servers, that need unlike things; or a list of GPU counts.
inline void constrain(Random& random, JobRequest& request) {
  auto model = request.model ? std::make_shared<JobModel>(*request.model) : std::make_shared<JobModel>();
  if (random.chance(0.5)) {
    model->gpu_counts_allowed = {request.gpus_min};
    if (request.gpus > request.gpus_min) model->gpu_counts_allowed.push_back(request.gpus);
    if (request.gpus_max > request.gpus) model->gpu_counts_allowed.push_back(request.gpus_max);
  } else {
    const auto role = [&](const char* name, int least, int most, int gpus) {
      Role made{name, least, most, gpus, {}};
      made.demand[Resource::cpu] = static_cast<double>(random.integer(0, 2));
      return made;
    };
    model->roles = {role("scheduler", 1, 1, 0), role("worker", request.gpus_min, request.gpus_max, 1)};
    if (random.chance(0.5)) model->roles.push_back(role("server", 1, static_cast<int>(random.integer(1, 3)), 0));
  }
  request.model = std::move(model);
}

inline JobRequest random_request(Random& random) {
  JobRequest request;
  request.gpus_min = static_cast<int>(random.integer(1, 3));
  request.gpus = request.gpus_min + static_cast<int>(random.integer(0, 2));
  request.gpus_max = request.gpus + static_cast<int>(random.integer(0, 2));
  request.capability = static_cast<Capability>(random.integer(0, 2));
  request.freezable = request.capability == Capability::freeze || random.chance(0.3);
  request.preemptible = random.chance(0.9);
  request.migratable = random.chance(0.9);
  request.servers_max = random.chance(0.7)   ? 1
                        : random.chance(0.5) ? any_number_of_servers
                                             : static_cast<int>(random.integer(2, 3));
  request.shareable = random.chance(0.3);
  request.priority = static_cast<int>(random.integer(0, 2));
  request.user = UserIndex(static_cast<std::uint32_t>(random.integer(0, 3)));
  request.family = FamilyIndex(static_cast<std::uint32_t>(random.integer(0, 4)));
  request.user_weight = random.chance(0.2) ? 2 : 1;
  if (random.chance(0.2)) request.time_limit = Duration::whole_seconds(random.integer(1, 30));
  if (random.chance(0.5)) request.estimate = Duration::whole_seconds(random.integer(1, 1000));
  if (random.chance(0.3)) request.demand[Resource::cpu] = static_cast<double>(random.integer(0, 4));
  if (random.chance(0.2)) request.demand[Resource::memory] = static_cast<double>(random.integer(0, 30));
  if (random.chance(0.2)) request.gpu_types = {GpuTypeIndex(static_cast<std::uint32_t>(random.integer(0, 1)))};
  if (random.chance(0.2)) request.gpu_memory_bytes = random.integer(1, 12);
  request.needs_containers = random.chance(0.2);
  if (random.chance(0.1)) request.servers_chosen = {{"0", "1"}, {}};
  if (random.chance(0.1)) request.servers_chosen = {{}, {"0"}};
  if (random.chance(0.6)) request.model = random_model(random, request);
  if (random.chance(0.2)) constrain(random, request);
  if (!roles_of(request).empty()) request.demand = Demand(request).of_ranks(0, request.gpus, request.gpus);
  return request;
}

// Of a job without GPUs.
inline JobRequest random_request_without_gpus(Random& random) {
  JobRequest request = random_request(random);
  request.gpus = request.gpus_min = request.gpus_max = 0;
  request.servers_max = 1;
  request.shareable = false;
  request.model.reset();
  request.gpu_types.clear();
  request.gpu_memory_bytes.reset();
  request.demand = {};
  request.demand[Resource::cpu] = static_cast<double>(random.integer(1, 10));
  if (random.chance(0.2)) request.demand[Resource::memory] = static_cast<double>(random.integer(1, 70));
  return request;
}

inline ServerDescription random_server(Random& random, const std::string& name) {
  ServerDescription server;
  server.name = name;
  server.gpus = random.chance(0.1) ? 0 : static_cast<int>(random.integer(2, 6));
  server.gpu_type = GpuTypeIndex(static_cast<std::uint32_t>(random.integer(0, 1)));
  server.gpu_memory_bytes = random.integer(8, 16);
  server.runs_containers = random.chance(0.7);
  server.capacity[Resource::cpu] = 8;
  if (random.chance(0.5)) server.capacity[Resource::memory] = 64;
  return server;
}

class RandomHistory {
 public:
  RandomHistory(std::uint64_t seed, std::unique_ptr<Policy> policy, CoreSettings settings = {})
      : cluster({4, 2, 6}, std::move(policy), seeded(settings, seed)), random_(seed) {}

  // A moment later something happens, and the policy decides.
  void step() {
    const std::int64_t longest = random_.chance(0.1) ? 600'000 : 3000;
    cluster.now = cluster.now + Duration::milliseconds(random_.integer(0, longest));
    cluster.obeys = random_.chance(0.7);
    cluster.stops_to_move = random_.chance(0.5);
    cluster.feed(random_event());
  }

  Cluster cluster;

 private:
  static CoreSettings seeded(CoreSettings settings, std::uint64_t seed) {
    settings.seed = seed;
    return settings;
  }

  JobId some_job() {
    std::vector<JobIndex> all(cluster.core.all_active());
    for (const auto* jobs : {&cluster.core.waiting(), &cluster.core.aside()})
      all.insert(all.end(), jobs->begin(), jobs->end());
    if (all.empty() || random_.chance(0.1)) return JobId(random_.integer(0, 50));
    const auto pick = static_cast<std::size_t>(random_.integer(0, static_cast<std::int64_t>(all.size()) - 1));
    return cluster.core.job(all[pick]).request.id;
  }

  AttemptProgressed progress(JobId job, int attempt) {
    AttemptProgressed told{job, attempt};
    if (random_.chance(0.7)) told.loss = random_.uniform(0.2, 2);
    if (random_.chance(0.7)) {
      told.speed = SpeedSample{};
      told.speed->workers = static_cast<int>(random_.integer(1, 6));
      told.speed->steps_per_s = random_.uniform(0.1, 20);
      if (random_.chance(0.3)) told.speed->neighbour = some_job();
    }
    return told;
  }

  // To GPUs that are free on that server, if there are any, or on its own.
  JobMoved moved(JobId job, const std::string& server) {
    JobMoved event{job, {}};
    const int count = static_cast<int>(random_.integer(1, 4));
    if (random_.chance(0.5)) event.gpus_min = 1, event.gpus_max = 4;
    const ServerIndex there = cluster.core.find_server(server);
    const GpuSet free = there.valid() ? cluster.core.ledger().free().on(there) : GpuSet();
    if (there.valid()) event.gpus = Allocation(there, free.lowest(std::min(count, free.count())));
    const bool is_without_gpus = cluster.has(job.value) && !cluster.job(job.value).request.needs_gpus();
    if (cluster.has(job.value) && random_.chance(0.3) && !is_without_gpus) {
      const auto parts = cluster.job(job.value).allocation.parts();
      if (!parts.empty()) event.gpus = Allocation(parts.front().server, parts.front().gpus.lowest(1));
    }
    if (there.valid() && is_without_gpus) event.gpus = Allocation(there, {});
    return event;
  }

  TelemetrySampled telemetry(const std::string& server) {
    TelemetrySampled sample{server, std::vector<GpuFacts>(4), GpuSet{random_() & random_() & random_() & 0xF}, {}};
    for (GpuFacts& gpu : sample.gpus) {
      gpu.sampled = cluster.now;
      if (random_.chance(0.8)) gpu.utilization_pct = random_.uniform(0, 100);
      if (random_.chance(0.5)) gpu.memory_used_bytes = random_.integer(0, 16);
    }
    return sample;
  }

  Event random_event() {
    const JobId job = some_job();
    const bool stale = random_.chance(0.1);  // drawn in any case, so that the stream does not depend on whether a job
                                             // exists
    const int attempt = cluster.has(job.value) && !stale ? cluster.job(job.value).attempt : 1;
    const std::string server = std::to_string(random_.integer(0, 3));
    switch (random_.integer(0, 16)) {
      case 0:
        return JobCancelled{job};
      case 1:
        return JobHeld{job, random_.chance(0.5), random_.chance(0.8)};
      case 2:
        return AttemptStarted{job, attempt};
      case 3:
        return AttemptSuspended{job, attempt};
      case 4:
        return AttemptReleased{job, attempt};
      case 5:
      case 6:
        return AttemptExited{
            job, attempt, {random_.chance(0.7) ? FailureKind::none : FailureKind::exit, 1}, random_.chance(0.2)};
      case 7:
        return random_.chance(0.5) ? Event(ServerLost{server}) : Event(ServerSilent{server});
      case 8:
        if (random_.chance(0.3)) return ServerRemoved{server};
        return random_.chance(0.5) ? Event(ServerDrained{server, random_.chance(0.3)})
                                   : Event(ServerQuarantined{server, random_.chance(0.5)});
      case 9:
        return telemetry(server);
      case 10:
        return ServerJoined{random_server(random_, server)};
      case 11:
        return JobEdited{job, static_cast<int>(random_.integer(0, 3)), 1, 4, {}};
      case 12:
        return progress(job, attempt);
      case 13:
        return moved(job, server);
      default: {
        JobRequest request = random_.chance(0.15) ? random_request_without_gpus(random_) : random_request(random_);
        request.id = JobId(next_id_++);
        request.submitted = cluster.now;
        if (random_.chance(0.3)) request.deadline = cluster.now + Duration::whole_seconds(random_.integer(1, 2000));
        if (random_.chance(0.2)) request.prerequisites = prerequisites();
        const std::int64_t members = random_.chance(0.1) ? random_.integer(1, 8) : 0;
        next_id_ += members;
        return JobSubmitted{std::move(request), random_.chance(0.05), members, static_cast<int>(random_.integer(0, 3))};
      }
    }
  }

  std::shared_ptr<const Prerequisites> prerequisites() {
    auto what = std::make_shared<Prerequisites>();
    const auto earlier = [&] { return JobId(random_.integer(1, next_id_ - 1)); };
    if (random_.chance(0.4)) what->not_before = cluster.now + Duration::milliseconds(random_.integer(-1000, 20'000));
    for (std::int64_t i = random_.integer(0, 2); i > 0; --i) what->after.push_back(earlier());
    for (std::int64_t i = random_.integer(0, 2); i > 0; --i) what->after_any.push_back(earlier());
    return what;
  }

  Random random_;
  std::int64_t next_id_ = 1;
};

}  // namespace sl::test
