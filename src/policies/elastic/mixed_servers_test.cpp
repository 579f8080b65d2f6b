// Elastic jobs where not every job may use every server.
#include <gtest/gtest.h>

#include "support/cluster.h"

namespace sl {
namespace {

using test::Cluster;
using test::elastic;
using test::gpus;

// One server of four GPUs of each type.
Cluster& with_types(Cluster& cluster) {
  for (std::uint32_t i = 0; i < cluster.core.servers().size(); ++i) {
    ServerDescription server = cluster.core.servers()[ServerIndex(i)].description;
    server.gpu_type = GpuTypeIndex(i);
    cluster.feed(ServerJoined{std::move(server)});
  }
  return cluster;
}

JobRequest on_type(JobRequest request, std::uint32_t type) {
  request.gpu_types = {GpuTypeIndex(type)};
  request.estimate = Duration::seconds(100'000);
  return request;
}

const std::vector<std::string> policies_of_elastic_jobs = {
    "elastic_fifo", "elastic_srtf", "elastic_srjf", "elastic_tiresias", "afs_l", "ffdl", "optimus", "coach"};

// Four GPUs of type 0 are free, and of no use to the job that waits.
TEST(MixedServers, a_job_gets_its_minimum_from_one_that_runs_there_whatever_is_free_elsewhere) {
  for (const std::string& policy : policies_of_elastic_jobs) {
    Cluster cluster({4, 4}, policy);
    with_types(cluster).submit(1, on_type(elastic(1, 4), 1));
    ASSERT_EQ(cluster.state(1), JobState::running) << policy;
    cluster.at(1000).submit(2, on_type(gpus(2), 1));
    EXPECT_EQ(cluster.state(2), JobState::running) << policy;
    EXPECT_LE(cluster.job(1).allocation.count(), 2) << policy;
    EXPECT_GE(cluster.job(1).allocation.count(), 1) << policy;
  }
}

// What jobs do on their own type does not depend on servers that none of them may use.
TEST(MixedServers, servers_that_no_job_may_use_change_nothing) {
  for (const std::string& policy : policies_of_elastic_jobs) {
    Cluster alone({4}, policy), beside({4, 4}, policy);
    for (Cluster* cluster : {&alone, &beside}) {
      with_types(*cluster).submit(1, on_type(elastic(1, 4), 0)).submit(2, on_type(elastic(2, 3), 0));
      cluster->at(500).submit(3, on_type(elastic(1, 4), 0)).submit(4, on_type(gpus(4), 0));
      cluster->at(1000).finish(1);
      cluster->at(2000).submit(5, on_type(elastic(1, 2), 0));
    }
    for (const std::int64_t id : {1, 2, 3, 4, 5}) {
      EXPECT_EQ(alone.has(id), beside.has(id)) << policy << " job " << id;
      if (!alone.has(id) || !beside.has(id)) continue;
      EXPECT_EQ(alone.where(id), beside.where(id)) << policy << " job " << id;
    }
  }
}

// The wider job may use both servers, the other only the first: it leaves that one to it.
TEST(MixedServers, a_job_with_less_choice_finds_its_place_first) {
  Cluster cluster({4, 4}, "elastic_fifo");
  JobRequest wide = gpus(8);
  wide.servers_max = 2;
  with_types(cluster).submit(9, std::move(wide)).submit(1, on_type(gpus(2), 0)).submit(2, gpus(4));
  cluster.finish(9);
  EXPECT_EQ(cluster.where(1), "0:0,1");
  EXPECT_EQ(cluster.where(2), "1:0,1,2,3");
}

// Each job names memory of its own, so there are more choices than bits of a word.
TEST(MixedServers, many_choices_of_few_kinds_of_servers_are_told_apart) {
  Cluster cluster({4, 4}, "elastic_fifo");
  with_types(cluster.with_gpu_memory(1'000'000));
  for (std::int64_t id = 100; id < 200; ++id) {
    JobRequest waits = on_type(gpus(4), 0);
    waits.gpu_memory_bytes = 2'000'000 + id;
    cluster.submit(id, std::move(waits));
  }
  cluster.submit(1, on_type(elastic(1, 4), 1));
  cluster.at(1000).submit(2, on_type(gpus(2), 1));
  EXPECT_EQ(cluster.state(2), JobState::running);
}

}  // namespace
}  // namespace sl
