// The worked examples of gang scheduling and of its baseline, by hand.
#include <gtest/gtest.h>

#include <bit>
#include <map>
#include <sstream>

#include "support/workload.h"

namespace sl {
namespace {

using test::Cluster;
using test::elastic;
using test::gpus;

// Members of a role that need that many CPUs each, and a GPU or none.
Role members(const char* name, int least, int wanted, int gpus, double cpus) {
  Role role{name, least, wanted, gpus, {}};
  role.demand[Resource::cpu] = cpus;
  return role;
}

JobRequest gang(std::vector<Role> roles) {
  JobRequest request = gpus(0);
  for (const Role& role : roles) {
    request.gpus_min += role.gpus * role.count_min;
    request.gpus += role.gpus * role.count_wanted;
  }
  request.gpus_max = request.gpus;
  request.servers_max = any_number_of_servers;
  auto model = std::make_shared<JobModel>();
  model->roles = std::move(roles);
  request.model = std::move(model);
  request.demand = Demand(request).of_ranks(0, request.gpus, request.gpus);
  return request;
}

// A CPU is a slot: one of each member of policies.md 9.1.
JobRequest scheduler_server_worker() {
  return gang({members("scheduler", 1, 1, 0, 1), members("server", 1, 1, 0, 1), members("worker", 1, 1, 1, 1)});
}

// Servers 0, 1, … with that many GPUs and CPUs.
struct WithCpus : Cluster {
  explicit WithCpus(const std::vector<std::pair<int, double>>& servers, const GivenParameters& parameters = {},
                    const std::string& policy = "gang")
      : Cluster({}, policy, parameters) {
    for (const auto& [gpus, cpus] : servers) {
      ServerDescription server;
      server.name = std::to_string(core.servers().size());
      server.gpus = gpus;
      server.capacity[Resource::cpu] = cpus;
      feed(ServerJoined{server});
    }
  }
};

double cpus_used(const Cluster& cluster, std::uint32_t server) {
  return cluster.core.servers()[ServerIndex(server)].used[Resource::cpu];
}

TEST(Gang, starts_all_members_or_none) {
  WithCpus cluster({{2, 3}});
  cluster.submit(1, scheduler_server_worker()).submit(2, scheduler_server_worker());
  EXPECT_EQ(cluster.where(1), "0:0");
  EXPECT_EQ(cpus_used(cluster, 0), 3);
  EXPECT_EQ(cluster.state(2), JobState::pending);  // a GPU is free, and no slot for its scheduler
  cluster.finish(1);
  EXPECT_EQ(cluster.where(2), "0:0");
  EXPECT_EQ(cpus_used(cluster, 0), 3);
  cluster.finish(2);
  EXPECT_EQ(cpus_used(cluster, 0), 0);
}

TEST(Gang, goes_to_the_server_that_hosts_no_member_of_another_job) {
  WithCpus cluster({{2, 6}, {2, 6}});
  cluster.submit(1, scheduler_server_worker()).submit(2, scheduler_server_worker());
  EXPECT_EQ(cluster.where(1), "0:0");
  EXPECT_EQ(cluster.where(2), "1:0");
}

// The parameter server needs 8 CPUs, which only server 1 has; a worker needs one.
TEST(Gang, finds_the_server_that_has_room_for_the_member_that_needs_most) {
  WithCpus cluster({{1, 2}, {1, 16}});
  cluster.submit(1, gang({members("server", 1, 1, 0, 8), members("worker", 2, 2, 1, 1)}));
  EXPECT_EQ(cluster.where(1), "1:0 0:0");
  EXPECT_EQ(cpus_used(cluster, 0), 1);
  EXPECT_EQ(cpus_used(cluster, 1), 9);
}

TEST(Gang, takes_fewer_gpus_of_a_server_that_has_cpus_for_fewer_members) {
  WithCpus cluster({{4, 3}, {4, 40}});
  cluster.submit(1, gang({members("server", 1, 1, 0, 2), members("worker", 5, 5, 1, 1)}));
  EXPECT_EQ(cluster.where(1), "0:0 1:0,1,2,3");
}

// Only in this order, and with one GPU of each, is the one that needs three CPUs not beside others.
TEST(Gang, takes_its_servers_in_any_order_in_which_all_members_find_room) {
  WithCpus cluster({{2, 4}, {2, 4}, {2, 2}});
  cluster.submit(1, gang({members("server", 1, 1, 0, 2), members("worker", 2, 2, 1, 2), members("chief", 1, 1, 1, 3)}));
  EXPECT_EQ(cluster.where(1), "0:0 2:0 1:0");
}

TEST(Gang, a_member_that_fits_nowhere_keeps_all_others_waiting) {
  WithCpus cluster({{4, 8}, {4, 8}});
  cluster.submit(1, gang({members("server", 1, 1, 0, 9), members("worker", 2, 2, 1, 1)}));
  EXPECT_EQ(cluster.state(1), JobState::pending);
  EXPECT_EQ(cpus_used(cluster, 0) + cpus_used(cluster, 1), 0);
}

TEST(Gang, gets_as_many_members_between_minimum_and_wanted_as_its_server_has_room_for) {
  WithCpus cluster({{4, 7}});
  cluster.submit(1, gang({members("server", 1, 1, 0, 2), members("worker", 1, 4, 1, 2)}));
  EXPECT_EQ(cluster.where(1), "0:0,1");  // 2 + 2 * 2 CPUs; a third worker would need an eighth
  EXPECT_EQ(cpus_used(cluster, 0), 6);
}

TEST(Gang, older_gangs_get_their_members_first) {
  WithCpus cluster({{4, 40}});
  JobRequest small = gang({members("server", 1, 1, 0, 1), members("worker", 1, 3, 1, 1)});
  small.capability = Capability::checkpoint;
  cluster.feed(ServerDrained{"0", true}).submit(1, gpus(2)).submit(2, small).submit(3, small);
  cluster.feed(ServerDrained{"0", false});
  EXPECT_EQ(cluster.where(2), "0:2");
  EXPECT_EQ(cluster.where(3), "0:3");
  cluster.at(60).finish(1);
  EXPECT_EQ(cluster.job(2).allocation.count(), 3);
  EXPECT_EQ(cluster.job(3).allocation.count(), 1);
  EXPECT_EQ(cpus_used(cluster, 0), 2 + 4);
}

TEST(Gang, one_with_a_required_role_that_has_no_member_blocks_nobody) {
  for (const char* mode : {"strict", "backfill"}) {
    WithCpus cluster({{4, 8}}, {{"when_blocked", mode}});
    cluster.submit(1, gang({members("server", 1, 0, 0, 1), members("worker", 1, 1, 1, 1)})).submit(2, gpus(4));
    EXPECT_EQ(cluster.state(1), JobState::pending);
    EXPECT_EQ(cluster.core.explain(cluster.core.find(JobId(1))), ReasonCode::unsatisfiable);
    EXPECT_EQ(cluster.state(2), JobState::running);
  }
}

TEST(Gang, of_one_role_starts_all_members_or_none) {
  Cluster cluster({3}, "gang");
  cluster.submit(1, gpus(3)).submit(2, gpus(3));
  EXPECT_EQ(cluster.where(1), "0:0,1,2");
  EXPECT_EQ(cluster.state(2), JobState::pending);
  cluster.finish(1);
  EXPECT_EQ(cluster.where(2), "0:0,1,2");
}

TEST(Gang, prefers_a_server_where_no_other_job_has_a_member) {
  Cluster cluster({4, 8}, "gang");
  cluster.submit(1, gpus(2)).submit(2, gpus(2));
  EXPECT_EQ(cluster.where(1), "0:0,1");
  EXPECT_EQ(cluster.where(2), "1:0,1");  // 2 would fit tighter next to job 1
  cluster.submit(3, gpus(2));
  EXPECT_EQ(cluster.where(3), "0:2,3");
}

TEST(Gang, strict_lets_nobody_pass_and_backfill_those_that_delay_nobody) {
  for (const auto& [mode, passes] : {std::pair("strict", false), std::pair("backfill", true)}) {
    Cluster cluster({4}, "gang", {{"when_blocked", mode}});
    JobRequest running = gpus(2), wide = gpus(4), quick = gpus(1), slow = gpus(1);
    running.estimate = quick.estimate = Duration::whole_seconds(10);
    slow.estimate = Duration::whole_seconds(11);
    cluster.submit(1, running).submit(2, wide).submit(3, slow).submit(4, quick);
    EXPECT_EQ(cluster.state(3), JobState::pending);
    EXPECT_EQ(cluster.state(4) == JobState::running, passes);
  }
}

TEST(Gang, members_are_added_up_to_the_wanted_number_when_nobody_waits) {
  Cluster cluster({4}, "gang");
  cluster.submit(1, elastic(2, 4));
  EXPECT_EQ(cluster.job(1).allocation.count(), 4);
  cluster.finish(1).submit(2, gpus(2)).submit(3, elastic(2, 4));
  EXPECT_EQ(cluster.job(3).allocation.count(), 2);
  cluster.at(10).finish(2);
  EXPECT_EQ(cluster.job(3).allocation.count(), 2);  // it has only just started
  cluster.at(60).turn();
  EXPECT_EQ(cluster.job(3).allocation.count(), 4);
}

TEST(DefaultPods, a_job_that_names_its_numbers_starts_with_the_next_lower_one_and_leaves_the_rest_to_others) {
  Cluster cluster({2}, "default");
  JobRequest job = elastic(1, 3);  // on one server
  auto model = std::make_shared<JobModel>();
  model->gpu_counts_allowed = {1, 3};
  job.model = model;
  cluster.submit(1, job).submit(2, gpus(1));
  EXPECT_EQ(cluster.where(1), "0:0");
  EXPECT_EQ(cluster.where(2), "0:1");
}

// Of the 20 ways to choose 3 pods of 6 only 2 complete a job.
TEST(DefaultPods, nine_of_ten_orders_deadlock) {
  int deadlocks = 0;
  constexpr int draws = 1000;
  for (std::uint64_t seed = 1; seed <= draws; ++seed) {
    CoreSettings settings;
    settings.seed = seed;
    Cluster cluster({3}, Cluster::make("default"), settings);
    cluster.feed(ServerDrained{"0", true}).submit(1, gpus(3)).submit(2, gpus(3)).feed(ServerDrained{"0", false});
    deadlocks += cluster.core.active().empty();
  }
  EXPECT_NEAR(deadlocks, 0.9 * draws, 40);  // four standard deviations
}

// Jobs that ask for so many of the server's GPUs each have come at once: what must be true of a deadlock, in twenty
// draws. Returns how many there were.
template <typename Check>
int for_each_deadlock(int server_gpus, int jobs, int job_gpus, Check check) {
  int deadlocks = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CoreSettings settings;
    settings.seed = seed;
    Cluster cluster({server_gpus}, Cluster::make("default"), settings);
    cluster.feed(ServerDrained{"0", true});
    for (int id = 1; id <= jobs; ++id) cluster.submit(id, gpus(job_gpus));
    cluster.feed(ServerDrained{"0", false});
    if (!cluster.core.active().empty()) continue;
    ++deadlocks;
    check(cluster);
  }
  return deadlocks;
}

TEST(DefaultPods, a_deadlock_is_reported_and_ends_after_its_timeout) {
  const int deadlocks = for_each_deadlock(3, 2, 3, [](Cluster& cluster) {
    EXPECT_EQ(cluster.core.explain(cluster.core.find(JobId(1))), ReasonCode::gang_incomplete);
    EXPECT_EQ(cluster.core.next_wake(), Instant::at_seconds(300));
    cluster.at(300).turn();
    EXPECT_EQ(cluster.state(1), JobState::running);  // the younger job gave up its pods
  });
  EXPECT_GT(deadlocks, 10);
}

// Jobs that hold pods, with how many: one line each in what the policy remembers, after one of its own.
std::map<int, int> pods_held(const Cluster& cluster) {
  std::istringstream lines(cluster.core.memory().blob);
  std::string line;
  std::getline(lines, line);
  std::map<int, int> held;
  int job = 0, server = 0;
  for (std::uint64_t gpus = 0; lines >> job >> server >> gpus;) held[job] += std::popcount(gpus);
  return held;
}

TEST(DefaultPods, a_deadlock_ends_with_the_first_of_its_jobs_and_takes_from_the_last_what_that_one_needs) {
  const int deadlocks = for_each_deadlock(12, 20, 4, [](Cluster& cluster) {
    std::map<int, int> expected = pods_held(cluster);
    const int first = expected.begin()->first;
    for (int has = expected[first]; has < 4; expected.erase(std::prev(expected.end())))
      has += expected.rbegin()->second;
    expected.erase(first);
    cluster.at(300).turn();
    EXPECT_EQ(cluster.state(first), JobState::running);
    EXPECT_EQ(cluster.core.active().size(), 1u);
    for (const auto& [job, pods] : expected) EXPECT_GE(pods_held(cluster)[job], pods) << job;
  });
  EXPECT_GT(deadlocks, 10);
}

// Each holds two of the six GPUs: the third gives up its own, one goes to the first, one to a pod of either other job.
TEST(DefaultPods, what_is_left_once_the_first_has_started_goes_to_the_next) {
  const int deadlocks = for_each_deadlock(6, 3, 3, [](Cluster& cluster) {
    cluster.at(300).turn();
    EXPECT_EQ(cluster.state(1), JobState::running);
    std::map<int, int> held = pods_held(cluster);
    EXPECT_FALSE(held.contains(1));
    EXPECT_EQ((cluster.state(2) == JobState::running ? 3 : 0) + held[2] + held[3], 3);
    EXPECT_EQ(cluster.core.refusals(Refusal::not_waiting), 0u);
    EXPECT_EQ(cluster.core.refusals(Refusal::gpus_taken), 0u);
  });
  EXPECT_GT(deadlocks, 0);
}

// The first cannot have its fourth GPU: somebody else uses it.
TEST(DefaultPods, a_deadlock_whose_first_job_cannot_be_completed_ends_with_another) {
  int deadlocks = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    CoreSettings settings;
    settings.seed = seed;
    Cluster cluster({4, 4}, Cluster::make("default"), settings);
    cluster.feed(ServerDrained{"0", true}).feed(ServerDrained{"1", true});
    for (int id = 1; id <= 4; ++id) cluster.submit(id, gpus(4));
    cluster.feed(ServerDrained{"0", false}).feed(ServerDrained{"1", false});
    if (!cluster.core.active().empty()) continue;
    ++deadlocks;
    std::istringstream memory(cluster.core.memory().blob);
    std::string header, first, server;
    std::getline(memory, header);
    memory >> first >> server;
    TelemetrySampled sample{server, {}, {}, {}};
    sample.outside = GpuSet::only(0);
    cluster.at(10).feed(sample);
    for (int second = 310; second <= 2000; second += 10) cluster.at(second).turn();
    EXPECT_FALSE(cluster.core.active().empty()) << "seed " << seed;
  }
  EXPECT_GT(deadlocks, 10);
}

TEST(DefaultPods, a_frozen_job_gets_its_own_gpus_at_once_and_holds_none_up) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CoreSettings settings;
    settings.seed = seed;
    settings.abilities.freeze = true, settings.abilities.suspend = false;
    Cluster cluster({4}, Cluster::make("fifo"), settings);
    cluster.submit(1, test::freezable(2));
    ASSERT_EQ(cluster.where(1), "0:0,1");
    cluster.feed(JobHeld{JobId(1)}).feed(ServerDrained{"0", true}).submit(2, gpus(4)).use("default");
    cluster.feed(JobHeld{JobId(1), false}).feed(ServerDrained{"0", false});
    bool has_gone_on = false;
    for (int second = 0; second <= 2000 && !(has_gone_on && cluster.state(2) == JobState::running); second += 10) {
      cluster.at(second).turn();
      if (cluster.state(2) == JobState::running && !has_gone_on) cluster.finish(2).submit(2, gpus(4));
      if (cluster.state(1) != JobState::running) continue;
      EXPECT_EQ(cluster.where(1), "0:0,1");
      has_gone_on = true;
      cluster.finish(1);
    }
    EXPECT_TRUE(has_gone_on) << "seed " << seed;
    EXPECT_EQ(cluster.state(2), JobState::running) << "seed " << seed;
  }
}

TEST(DefaultPods, of_jobs_in_a_deadlock_those_of_higher_priority_come_first) {
  JobRequest urgent = gpus(2);
  urgent.priority = 1;
  Cluster cluster({2}, "default");
  cluster.submit(1, gpus(1)).submit(2, gpus(2)).submit(3, urgent).finish(1);
  EXPECT_EQ(pods_held(cluster), (std::map<int, int>{{2, 1}, {3, 1}}));
  cluster.at(300).turn();
  EXPECT_EQ(cluster.where(3), "0:0,1");
}

TEST(DefaultPods, jobs_with_enough_pods_and_too_few_cpus_for_them_are_deadlocked_too) {
  WithCpus cluster({{4, 16}, {4, 16}}, {}, "default");
  JobRequest wide = elastic(2, 8), rigid = gpus(5);
  wide.demand[Resource::cpu] = 30, rigid.demand[Resource::cpu] = 10;
  wide.servers_max = rigid.servers_max = any_number_of_servers;
  cluster.feed(ServerDrained{"0", true}).feed(ServerDrained{"1", true}).submit(1, wide).submit(2, rigid);
  cluster.feed(ServerDrained{"0", false}).feed(ServerDrained{"1", false});
  ASSERT_TRUE(cluster.core.active().empty());
  EXPECT_EQ(cluster.core.explain(cluster.core.find(JobId(1))), ReasonCode::gang_incomplete);
  cluster.at(300).turn();
  EXPECT_EQ(cluster.state(1), JobState::running);
  cluster.finish(1);
  EXPECT_EQ(cluster.state(2), JobState::running);
}

TEST(DefaultPods, spreads_over_servers) {
  Cluster cluster({4, 4}, "default");
  cluster.submit(1, gpus(1)).submit(2, gpus(1));
  EXPECT_NE(cluster.where(1).substr(0, 1), cluster.where(2).substr(0, 1));
}

}  // namespace
}  // namespace sl
