// Frozen jobs give up their GPUs, but not the memory of them.
#include <gtest/gtest.h>

#include "forecast/present.h"
#include "policy/placer.h"
#include "support/cluster.h"

namespace sl {
namespace {

using test::Cluster;
using test::elastic;
using test::freezable;
using test::gpus;

CoreSettings as_on_real_servers() {
  CoreSettings settings;
  settings.abilities = {.suspend = false, .freeze = true, .migrate = true, .resize = true};
  return settings;
}

JobRequest needs(std::int64_t bytes, JobRequest request = gpus(1)) {
  request.gpu_memory_bytes = bytes;
  return request;
}

struct FrozenMemory : testing::Test {
  FrozenMemory() { cluster.with_gpu_memory(10); }
  // Job 1 stands still on the first GPU of the first server, and holds 6 bytes there.
  void freeze_one() {
    cluster.submit(1, needs(6, freezable(1))).feed(JobHeld{JobId(1)});
    ASSERT_EQ(cluster.state(1), JobState::suspended);
  }
  ReasonCode why(std::int64_t id) const { return cluster.core.explain(cluster.core.find(JobId(id))); }
  const std::vector<std::int64_t>& frozen() const { return cluster.core.servers()[ServerIndex(0)].frozen_bytes; }
  Cluster cluster{{2, 2}, Cluster::make("fifo"), as_on_real_servers()};
};

using Bytes = std::vector<std::int64_t>;

TEST_F(FrozenMemory, nothing_starts_beside_a_frozen_job_that_would_not_fit) {
  freeze_one();
  cluster.submit(2, needs(5)).submit(3, needs(10, gpus(2))).submit(4, needs(5));
  EXPECT_EQ(cluster.where(2), "0:1");
  EXPECT_EQ(cluster.where(3), "1:0,1");
  EXPECT_EQ(cluster.state(4), JobState::pending);
  EXPECT_EQ(why(4), ReasonCode::frozen_memory);
  EXPECT_EQ(cluster.core.refusals(Refusal::type_or_memory), 0u);
  cluster.feed(JobCancelled{JobId(4)}).submit(5, needs(4));
  EXPECT_EQ(cluster.where(5), "0:0");
}

TEST_F(FrozenMemory, of_a_job_over_several_servers_every_gpu_has_room) {
  freeze_one();
  JobRequest wide = needs(5, gpus(3));
  wide.servers_max = any_number_of_servers;
  cluster.submit(2, wide).submit(3, needs(5));
  EXPECT_EQ(cluster.where(2), "0:1 1:0,1");
  EXPECT_EQ(why(3), ReasonCode::frozen_memory);
}

TEST_F(FrozenMemory, what_says_nothing_about_its_memory_prefers_gpus_without_frozen_jobs) {
  freeze_one();
  cluster.submit(2, gpus(1)).submit(3, gpus(1));
  EXPECT_EQ(cluster.where(2), "0:1");
  EXPECT_EQ(cluster.where(3), "0:0");
}

TEST_F(FrozenMemory, a_job_that_grows_takes_only_gpus_with_room) {
  cluster.submit(1, needs(6, freezable(1))).submit(2, needs(5, elastic(1, 1)));
  EXPECT_EQ(cluster.where(2), "0:1");
  cluster.feed(JobHeld{JobId(1)});
  const ServerTable& servers = cluster.core.servers();
  const FreeGpus& free = cluster.core.ledger().free();
  EXPECT_EQ(grown_in_place(free, servers, needs(5, elastic(1, 2)), cluster.job(2).allocation, 2).count(), 1);
  EXPECT_EQ(grown_in_place(free, servers, needs(4, elastic(1, 2)), cluster.job(2).allocation, 2).count(), 2);
}

TEST_F(FrozenMemory, it_is_free_again_when_the_job_goes_on_or_is_lost) {
  freeze_one();
  EXPECT_EQ(frozen(), Bytes{6});
  cluster.feed(JobHeld{JobId(1), false});
  EXPECT_EQ(frozen(), Bytes());
  cluster.feed(JobHeld{JobId(1)});
  EXPECT_EQ(frozen(), Bytes{6});
  cluster.feed(ServerLost{"0"});
  EXPECT_EQ(frozen(), Bytes());
}

// Its GPU is free all the time, so that no policy is told of a GPU that became free.
TEST_F(FrozenMemory, every_policy_starts_what_waited_for_memory_when_the_frozen_job_ends) {
  for (const std::string& policy : test::policy_names()) {
    Cluster one({2}, Cluster::make(policy), as_on_real_servers());
    one.with_gpu_memory(10);
    one.submit(1, needs(6, freezable(1))).feed(JobHeld{JobId(1)});
    one.submit(2, needs(10, gpus(2)));
    EXPECT_EQ(one.state(2), JobState::pending) << policy;
    EXPECT_EQ(one.core.refusals(Refusal::type_or_memory), 0u) << policy;
    one.feed(JobCancelled{JobId(1)}).at(100).turn();
    EXPECT_FALSE(one.has(1)) << policy;
    EXPECT_EQ(one.where(2), "0:0,1") << policy;
  }
}

// The first in line needs the memory of the second, which may continue only when it is its turn.
TEST_F(FrozenMemory, who_waits_for_the_memory_of_a_frozen_job_does_not_stand_before_it) {
  for (const std::string& policy : test::policy_names()) {
    Cluster one({2}, Cluster::make(policy), as_on_real_servers());
    one.with_gpu_memory(10);
    JobRequest wide = needs(10, gpus(2));
    wide.priority = 1;
    one.submit(1, needs(6, freezable(1))).feed(JobHeld{JobId(1)});
    one.submit(2, wide).feed(JobHeld{JobId(1), false}).at(100).turn();
    EXPECT_EQ(one.where(1), "0:0") << policy;
    EXPECT_EQ(one.state(2), JobState::pending) << policy;
    one.finish(1).at(200).turn();
    EXPECT_EQ(one.where(2), "0:0,1") << policy;
  }
}

TEST_F(FrozenMemory, it_is_what_was_measured_or_asked_for_whichever_is_more) {
  for (const std::int64_t measured : {9, 2}) {
    const std::int64_t id = 100 + measured;
    cluster.submit(id, needs(6, freezable(1)));
    AttemptProgressed told{JobId(id), 1};
    told.gpu_memory_used_bytes = measured;
    cluster.feed(told).feed(JobHeld{JobId(id)});
    EXPECT_EQ(frozen(), Bytes{std::max<std::int64_t>(measured, 6)});
    cluster.feed(JobCancelled{JobId(id)});
  }
}

TEST_F(FrozenMemory, a_copy_of_the_core_knows_it_too) {
  freeze_one();
  const forecast::Present present = forecast::copy_of(cluster.core, cluster.now);
  RequestEstimates estimates;
  Core copy(estimates, present.settings);
  Effects effects;
  forecast::restore(present, copy, effects);
  copy.set_policy(Cluster::make("fifo"), cluster.now, effects);
  EXPECT_EQ(copy.servers()[ServerIndex(0)].frozen_bytes, Bytes{6});
  copy.check_invariants();
}

}  // namespace
}  // namespace sl
