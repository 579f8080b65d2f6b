// CPUs and memory of jobs that wait for GPUs that others are leaving.
#include "core/interruptions_test.h"

namespace sl {
namespace {

using test::elastic;

struct PromisedResources : test::Interruptions {
  static JobRequest with_cpus(int gpu_count, double cpus) {
    JobRequest request = elastic(gpu_count, gpu_count);
    request.demand[Resource::cpu] = cpus;
    return request;
  }
  // These jobs run on server 0, which has four GPUs and eight CPUs, from its first GPU on.
  struct Holding {
    int gpus;
    double cpus;
  };
  void run(const std::vector<Holding>& jobs) {
    give_cpus(8);
    int taken = 0;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      const auto id = static_cast<std::int64_t>(i) + 1;
      cluster.submit(id, with_cpus(jobs[i].gpus, jobs[i].cpus));
      start(id, on(0, GpuSet::first(taken + jobs[i].gpus) - GpuSet::first(taken)));
      taken += jobs[i].gpus;
    }
    cluster.obeys = false;
  }
  static Allocation gpu(int number) { return Allocation(ServerIndex(0), GpuSet::only(number)); }
  std::uint64_t refused() const { return cluster.core.refusals(Refusal::resources_taken); }
};

TEST_F(PromisedResources, with_its_gpu_a_job_is_promised_the_cpus_of_the_one_that_leaves_it) {
  run({{1, 6}});
  cluster.submit(2, with_cpus(2, 8)).submit(3, with_cpus(1, 1));
  plan([&](const Snapshot&, Plan& p) { p.preempt(index(1)), p.start(index(2), on(0, GpuSet::first(2))); });
  EXPECT_EQ(cluster.state(2), JobState::starting);
  EXPECT_EQ(refused(), 0u);
  start(3, gpu(2));
  EXPECT_EQ(refused(), 1u) << "they are not for others meanwhile";
  cluster.feed(AttemptReleased{JobId(1), 1});
  EXPECT_EQ(cpus_used(0), 8);
  start(3, gpu(2));
  EXPECT_EQ(refused(), 2u);
  cluster.feed(AttemptStarted{JobId(2), 1});
  EXPECT_EQ(cluster.where(2), "0:0,1");
}

TEST_F(PromisedResources, several_jobs_are_promised_what_several_leave) {
  run({{1, 4}, {1, 4}});
  for (const std::int64_t id : {3, 4}) cluster.submit(id, with_cpus(1, 4));
  cluster.submit(5, with_cpus(1, 1));
  plan([&](const Snapshot&, Plan& p) {
    p.preempt(index(1)), p.preempt(index(2));
    p.start(index(3), gpu(0)), p.start(index(4), gpu(1));
  });
  EXPECT_EQ(refused(), 0u);
  start(5, gpu(2));
  EXPECT_EQ(refused(), 1u);
  for (const std::int64_t id : {1, 2}) {
    cluster.feed(AttemptReleased{JobId(id), 1});
    start(5, gpu(2));
  }
  EXPECT_EQ(refused(), 3u);
  EXPECT_EQ(cpus_used(0), 8);
}

TEST_F(PromisedResources, what_one_job_leaves_may_be_promised_to_several) {
  run({{1, 2}, {2, 6}});
  for (const std::int64_t id : {3, 4, 5}) cluster.submit(id, with_cpus(1, 3));
  plan([&](const Snapshot&, Plan& p) {
    p.preempt(index(2));
    p.start(index(3), gpu(1)), p.start(index(4), gpu(2)), p.start(index(5), gpu(3));
  });
  EXPECT_EQ(cluster.state(3), JobState::starting);
  EXPECT_EQ(cluster.state(4), JobState::starting);
  EXPECT_EQ(cluster.state(5), JobState::pending);
  EXPECT_EQ(refused(), 1u);
}

TEST_F(PromisedResources, what_one_job_leaves_counts_for_all_who_wait_for_it) {
  run({{1, 4}, {2, 4}});
  for (const std::int64_t id : {3, 4}) cluster.submit(id, with_cpus(1, 2));
  cluster.submit(5, with_cpus(1, 4));
  plan([&](const Snapshot&, Plan& p) {
    p.preempt(index(1)), p.preempt(index(2));
    p.start(index(3), gpu(1)), p.start(index(4), gpu(2)), p.start(index(5), gpu(0));
  });
  EXPECT_EQ(refused(), 0u);
  EXPECT_EQ(cluster.state(5), JobState::starting);
}

// Job 1 keeps its four CPUs on the way to the GPU of job 2; nothing was promised to it that job 2 still holds.
TEST_F(PromisedResources, a_job_that_moves_on_its_server_was_promised_no_cpus) {
  run({{1, 4}, {1, 2}, {1, 2}});
  cluster.submit(4, with_cpus(1, 4));
  plan([&](const Snapshot&, Plan& p) {
    p.preempt(index(2)), p.preempt(index(3));
    p.migrate(index(1), gpu(1)), p.start(index(4), gpu(2));
  });
  EXPECT_EQ(cluster.state(1), JobState::migrating);
  EXPECT_EQ(cluster.state(4), JobState::pending);
  EXPECT_EQ(refused(), 1u);
}

TEST_F(PromisedResources, the_cpus_of_a_job_whose_gpus_it_does_not_take_are_not_there_in_time) {
  run({{1, 6}});
  cluster.submit(2, with_cpus(1, 6));
  plan([&](const Snapshot&, Plan& p) { p.preempt(index(1)), p.start(index(2), gpu(3)); });
  EXPECT_EQ(refused(), 1u);
}

}  // namespace
}  // namespace sl
