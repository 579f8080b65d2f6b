// Jobs that no server could run now stand in nobody's way, and come back when one can.
#include "core/line_gate.h"

#include <gtest/gtest.h>

#include "support/cluster.h"

namespace sl {
namespace {

using test::Cluster;
using test::elastic;
using test::gpus;

JobRequest with_cpus(JobRequest request, double cpus) {
  request.demand[Resource::cpu] = cpus;
  return request;
}

ServerDescription server(const std::string& name, int gpus, double cpus = 8) {
  ServerDescription description;
  description.name = name;
  description.gpus = gpus;
  description.capacity[Resource::cpu] = cpus;
  return description;
}

struct LineGateTest : testing::Test {
  Cluster cluster{{4}};
  LineGateTest() { cluster.feed(ServerJoined{server("0", 4)}); }
  ReasonCode why(std::int64_t id) const { return cluster.core.explain(cluster.core.find(JobId(id))); }
};

TEST_F(LineGateTest, an_impossible_job_lets_those_behind_it_pass_and_says_why) {
  cluster.submit(1, with_cpus(gpus(1), 120)).submit(2, gpus(5)).submit(3, gpus(4));
  EXPECT_EQ(cluster.state(3), JobState::running);
  EXPECT_EQ(why(1), ReasonCode::unsatisfiable);
  EXPECT_EQ(why(2), ReasonCode::unsatisfiable);
  EXPECT_TRUE(cluster.core.waiting().empty());
  EXPECT_EQ(cluster.core.aside().size(), 2u);
}

TEST_F(LineGateTest, it_is_back_in_its_place_once_a_server_joins_that_can_run_it) {
  cluster.submit(1, with_cpus(gpus(1), 120)).submit(2, gpus(4)).submit(3, gpus(1));
  cluster.feed(ServerJoined{server("1", 1, 128)});
  EXPECT_EQ(cluster.where(1), "1:0");
  EXPECT_EQ(cluster.state(3), JobState::pending);
}

TEST_F(LineGateTest, a_job_for_a_server_that_is_away_waits_for_it_and_keeps_nobody_waiting) {
  cluster.feed(ServerJoined{server("1", 8)}).feed(ServerDrained{"1"});
  cluster.submit(1, gpus(8)).submit(2, gpus(1));
  EXPECT_EQ(cluster.state(2), JobState::running);
  EXPECT_EQ(why(1), ReasonCode::server_away);
  cluster.feed(ServerDrained{"1", false});
  EXPECT_EQ(cluster.state(1), JobState::running);
}

TEST_F(LineGateTest, a_job_in_line_steps_aside_when_its_only_server_leaves) {
  cluster.feed(ServerJoined{server("1", 8)});
  cluster.submit(1, gpus(8)).submit(2, gpus(8)).submit(3, gpus(4)).submit(4, gpus(1));
  EXPECT_EQ(cluster.state(3), JobState::pending) << "behind job 2";
  cluster.feed(ServerLost{"1"});
  EXPECT_EQ(cluster.state(3), JobState::running);
  EXPECT_EQ(why(1), ReasonCode::server_away);
  cluster.feed(ServerJoined{server("1", 8)});
  EXPECT_EQ(cluster.state(1), JobState::running) << "it was first";
}

TEST_F(LineGateTest, a_job_that_is_set_aside_when_it_comes_back_leaves_its_gpus_to_others_under_every_policy) {
  for (const std::string& policy : test::policy_names()) {
    Cluster two({4}, policy);
    two.feed(ServerJoined{server("1", 4)});
    JobRequest wide = gpus(8);
    wide.servers_max = any_number_of_servers;
    two.submit(1, wide).submit(2, gpus(4));
    if (two.state(1) != JobState::running) continue;  // this policy serves the other one first
    two.at(10000).feed(ServerLost{"1"}).at(10001).at(20000).turn();
    EXPECT_EQ(two.state(2), JobState::running) << policy;
    EXPECT_EQ(two.core.aside().size(), 1u) << policy;
  }
}

TEST_F(LineGateTest, broken_gpus_count_as_gone_until_they_work) {
  cluster.feed(TelemetrySampled{"0", {}, {}, GpuSet::only(3)}).submit(1, gpus(4)).submit(2, gpus(3));
  EXPECT_EQ(cluster.state(2), JobState::running);
  EXPECT_EQ(why(1), ReasonCode::server_away);
  cluster.feed(TelemetrySampled{"0", {}, {}, {}}).finish(2);
  EXPECT_EQ(cluster.state(1), JobState::running);
}

TEST_F(LineGateTest, gpus_in_use_by_others_are_waited_for_in_line) {
  cluster.feed(TelemetrySampled{"0", {}, GpuSet::only(3), {}}).submit(1, gpus(4)).submit(2, gpus(3));
  EXPECT_EQ(cluster.state(2), JobState::pending);
}

TEST_F(LineGateTest, the_policy_decides_how_many_gpus_a_job_needs) {
  cluster.submit(1, elastic(2, 8)).submit(2, gpus(4));
  EXPECT_EQ(why(1), ReasonCode::unsatisfiable) << "fifo gives it 8";
  EXPECT_EQ(cluster.state(2), JobState::running);
  cluster.use("elastic_fifo");
  EXPECT_TRUE(cluster.core.aside().empty());
  cluster.finish(2);
  EXPECT_EQ(cluster.state(1), JobState::running);
  EXPECT_EQ(cluster.job(1).allocation.count(), 4);
}

TEST_F(LineGateTest, a_job_that_is_set_aside_can_be_edited_held_and_cancelled) {
  cluster.submit(1, elastic(5, 8)).submit(2, gpus(9)).submit(3, gpus(9));
  cluster.feed(JobEdited{JobId(1), {}, 2, 4, {}});
  EXPECT_EQ(cluster.state(1), JobState::running);
  cluster.feed(JobHeld{JobId(2), true});
  EXPECT_EQ(cluster.state(2), JobState::held);
  cluster.feed(JobHeld{JobId(2), false});
  EXPECT_EQ(why(2), ReasonCode::unsatisfiable);
  cluster.feed(JobCancelled{JobId(3)});
  EXPECT_FALSE(cluster.has(3) && !is_finished(cluster.state(3)));
  EXPECT_EQ(cluster.core.aside().size(), 1u);
}

TEST_F(LineGateTest, while_no_server_is_up_everybody_stays_in_line) {
  Cluster empty({});
  empty.submit(1, gpus(8)).submit(2, gpus(1));
  EXPECT_EQ(empty.core.waiting().size(), 2u);
  empty.feed(ServerJoined{server("0", 4)});
  EXPECT_EQ(empty.state(2), JobState::running);
  EXPECT_EQ(empty.core.aside().size(), 1u);
}

TEST_F(LineGateTest, nobody_is_asked_for_a_job_that_cannot_run) {
  cluster.submit(1, gpus(4)).submit(2, gpus(1));
  const Instant before = cluster.core.next_wake();
  const std::size_t sent = cluster.sent.size();
  cluster.submit(3, gpus(9));
  EXPECT_EQ(cluster.core.next_wake(), before);
  EXPECT_EQ(cluster.sent.size(), sent);
}

}  // namespace
}  // namespace sl
