// Jobs without GPUs: who starts, where, and in which order, whichever policy is in force.
#include <gtest/gtest.h>

#include "support/cluster.h"

namespace sl {
namespace {

using test::Cluster;
using test::gpus;

JobRequest cpus(double count, int priority = 0) {
  JobRequest request = gpus(0);
  request.demand[Resource::cpu] = count;
  request.priority = priority;
  return request;
}

JobRequest gpus_and_cpus(int count, double cpu) {
  JobRequest request = gpus(count);
  request.demand[Resource::cpu] = cpu;
  return request;
}

// Servers with so many GPUs and 8 CPUs each.
class WithCpus : public Cluster {
 public:
  explicit WithCpus(const std::vector<int>& gpus_per_server) : Cluster(std::vector<int>{}) {
    for (std::size_t i = 0; i < gpus_per_server.size(); ++i) {
      ServerDescription server;
      server.name = std::to_string(i);
      server.gpus = gpus_per_server[i];
      server.capacity[Resource::cpu] = 8;
      feed(ServerJoined{std::move(server)});
    }
  }
};

// Counts how often it is asked, and starts nothing.
class Counting : public Policy {
 public:
  explicit Counting(int& asked) : asked_(asked) {}
  void attach(const Snapshot&) override {}
  void notice(const Snapshot&, NoticeKind, JobIndex) override {}
  void decide(const Snapshot&, Plan&) override { ++asked_; }

 private:
  int& asked_;
};

TEST(WithoutGpus, its_coming_and_going_is_no_news_to_a_policy_none_of_whose_jobs_may_need_its_room) {
  int asked = 0;
  Cluster cluster({2}, std::make_unique<Counting>(asked));
  cluster.submit(1, gpus(1));
  const int before = asked;
  cluster.at(1).submit(2, cpus(1)).at(2).finish(2);
  EXPECT_EQ(asked, before);
  cluster.at(3).submit(3, gpus_and_cpus(1, 1)).at(4).submit(4, cpus(1));
  const int with_one_that_needs_cpus = asked;
  cluster.at(5).finish(4);
  EXPECT_EQ(asked, with_one_that_needs_cpus + 1);
}

class WithoutGpusUnder : public testing::TestWithParam<std::string> {};

TEST_P(WithoutGpusUnder, one_starts_although_all_gpus_are_taken_and_others_wait_for_them) {
  Cluster cluster({2}, GetParam());
  cluster.submit(1, gpus(2)).submit(2, gpus(2)).submit(3, cpus(1));
  EXPECT_EQ(cluster.state(1), JobState::running);
  EXPECT_EQ(cluster.where(3), "0:");
  EXPECT_EQ(cluster.state(3), JobState::running);
  cluster.at(10).finish(3).turn();
  EXPECT_FALSE(cluster.has(3));
  EXPECT_EQ(cluster.core.ledger().gpus_in_use(), 2);
}
INSTANTIATE_TEST_SUITE_P(All, WithoutGpusUnder, testing::ValuesIn(test::policy_names()),
                         [](const auto& test) { return test.param; });

TEST_P(WithoutGpusUnder, one_that_moves_away_leaves_its_cpus_to_a_job_that_waits_for_them) {
  WithCpus cluster({1, 0});
  cluster.use(GetParam());
  JobRequest request = cpus(8);
  request.capability = Capability::checkpoint;
  cluster.feed(ServerDrained{"1", true}).submit(1, request).feed(ServerDrained{"1", false});
  cluster.submit(2, gpus_and_cpus(1, 1));
  EXPECT_EQ(cluster.state(2), JobState::pending);
  cluster.stops_to_move = true;
  cluster.at(10).feed(JobMoved{JobId(1), Allocation(ServerIndex(1), {})});
  EXPECT_EQ(cluster.where(1), "1:");
  EXPECT_EQ(cluster.state(2), JobState::running);
}

TEST(WithoutGpus, they_share_a_server_as_far_as_its_cpus_go) {
  WithCpus cluster({2});
  cluster.submit(1, cpus(5)).submit(2, cpus(5)).submit(3, cpus(3));
  EXPECT_EQ(cluster.state(1), JobState::running);
  EXPECT_EQ(cluster.state(2), JobState::pending);
  EXPECT_EQ(cluster.core.explain(cluster.core.find(JobId(2))), ReasonCode::cpu_or_memory);
  EXPECT_EQ(cluster.state(3), JobState::pending) << "the only server is kept for the first in line";
  EXPECT_EQ(cluster.core.explain(cluster.core.find(JobId(3))), ReasonCode::behind_others);
  cluster.at(5).finish(1);
  EXPECT_EQ(cluster.state(2), JobState::running);
  EXPECT_EQ(cluster.state(3), JobState::running);
}

TEST(WithoutGpus, one_that_finds_no_room_keeps_one_server_and_is_passed_elsewhere) {
  WithCpus cluster({1, 1});
  cluster.submit(1, cpus(4)).submit(2, cpus(3)).submit(3, cpus(8)).submit(4, cpus(1));
  EXPECT_EQ(cluster.where(1), "0:");
  EXPECT_EQ(cluster.where(2), "0:");
  EXPECT_EQ(cluster.where(3), "1:");
  EXPECT_EQ(cluster.where(4), "0:");
  cluster.submit(5, cpus(8)).submit(6, cpus(8));
  cluster.finish(4).submit(7, cpus(1));
  EXPECT_EQ(cluster.state(7), JobState::pending) << "what is free is on the server that is kept for job 5";
  cluster.finish(3);
  EXPECT_EQ(cluster.where(5), "1:");
  EXPECT_EQ(cluster.state(7), JobState::pending) << "now for job 6";
}

TEST(WithoutGpus, those_of_higher_priority_come_first_then_those_submitted_earlier) {
  WithCpus cluster({1});
  cluster.submit(1, cpus(8)).at(1).submit(2, cpus(8)).at(2).submit(3, cpus(8)).at(3).submit(4, cpus(8, 1));
  cluster.finish(1);
  EXPECT_EQ(cluster.state(4), JobState::running);
  cluster.finish(4);
  EXPECT_EQ(cluster.state(2), JobState::running);
  cluster.feed(JobEdited{.job = JobId(3), .priority = 2}).submit(5, cpus(8, 1)).finish(2);
  EXPECT_EQ(cluster.state(3), JobState::running);
}

TEST(WithoutGpus, the_cpus_beside_free_gpus_are_taken_last) {
  WithCpus cluster({4, 0, 2});
  cluster.submit(1, gpus(2));  // takes all of server 2
  cluster.submit(2, cpus(6)).submit(3, cpus(6)).submit(4, cpus(6));
  EXPECT_EQ(cluster.where(2), "1:");
  EXPECT_EQ(cluster.where(3), "2:");
  EXPECT_EQ(cluster.where(4), "0:");
}

TEST(WithoutGpus, a_job_with_gpus_that_came_before_keeps_the_cpus_that_it_needs) {
  WithCpus cluster({2});
  cluster.submit(1, cpus(6)).at(1).submit(2, gpus_and_cpus(1, 6)).at(2).submit(3, cpus(2));
  EXPECT_EQ(cluster.core.explain(cluster.core.find(JobId(2))), ReasonCode::cpu_or_memory);
  EXPECT_EQ(cluster.state(3), JobState::pending) << "else such jobs could keep job 2 waiting for ever";
  cluster.finish(1);
  EXPECT_EQ(cluster.state(2), JobState::running);
  EXPECT_EQ(cluster.state(3), JobState::running);
}

TEST(WithoutGpus, a_job_with_gpus_that_lacks_gpus_keeps_nothing) {
  WithCpus cluster({2});
  cluster.submit(1, gpus_and_cpus(2, 2)).at(1).submit(2, gpus_and_cpus(2, 6)).at(2).submit(3, cpus(6));
  EXPECT_EQ(cluster.state(3), JobState::running);
}

TEST(WithoutGpus, a_server_without_gpus_is_for_them_alone) {
  WithCpus cluster({0});
  cluster.submit(1, gpus(1)).submit(2, cpus(1));
  EXPECT_EQ(cluster.state(1), JobState::pending);
  EXPECT_EQ(cluster.state(2), JobState::running);
}

TEST(WithoutGpus, one_that_no_server_could_run_says_so) {
  WithCpus cluster({1});
  cluster.submit(1, cpus(9)).submit(2, cpus(8));
  EXPECT_EQ(cluster.core.explain(cluster.core.find(JobId(1))), ReasonCode::unsatisfiable);
  EXPECT_EQ(cluster.state(2), JobState::running) << "it keeps no server";
  cluster.submit(3, cpus(1)).feed(ServerDrained{"0", true});
  EXPECT_EQ(cluster.core.explain(cluster.core.find(JobId(3))), ReasonCode::server_away);
}

TEST(WithoutGpus, it_starts_where_it_may_and_only_on_servers_that_take_jobs) {
  WithCpus cluster({0, 0, 0});
  JobRequest chosen = cpus(1);
  chosen.servers_chosen = {{"2"}, {}};
  cluster.feed(ServerDrained{"0", true}).submit(1, cpus(1)).submit(2, chosen);
  EXPECT_EQ(cluster.where(1), "1:");
  EXPECT_EQ(cluster.where(2), "2:");
}

TEST(WithoutGpus, its_life_is_that_of_other_jobs) {
  WithCpus cluster({1, 1});
  JobRequest request = cpus(8);
  request.capability = Capability::checkpoint;
  request.time_limit = Duration::whole_seconds(100);
  cluster.submit(1, request);
  cluster.at(10).feed(JobMoved{JobId(1), Allocation(ServerIndex(1), {})});
  EXPECT_EQ(cluster.where(1), "1:");
  cluster.at(20).feed(JobPreempted{JobId(1)});
  EXPECT_EQ(cluster.where(1), "0:") << "starts again at once";
  cluster.at(30).feed(JobHeld{JobId(1), true, true});
  EXPECT_EQ(cluster.state(1), JobState::held);
  cluster.at(40).feed(JobHeld{JobId(1), false, true});
  EXPECT_EQ(cluster.state(1), JobState::running);
  EXPECT_EQ(cluster.job(1).attained_gpu_us, 0);
  cluster.at(50).feed(ServerLost{"0"});
  EXPECT_EQ(cluster.where(1), "1:");
  cluster.at(60).feed(ServerSilent{"1"}).feed(ServerRemoved{"1"});
  EXPECT_EQ(cluster.core.servers()[ServerIndex(1)].state, ServerState::down) << "it may run there";
  cluster.at(120).turn().turn();
  EXPECT_FALSE(cluster.has(1)) << "its time is up";
}

TEST(WithoutGpus, a_frozen_one_goes_on_where_it_was_when_there_is_room_again) {
  WithCpus cluster({1, 1});
  JobRequest request = cpus(8);
  request.capability = Capability::freeze;
  request.freezable = true;
  cluster.submit(1, request).feed(JobHeld{JobId(1), true, true});
  EXPECT_EQ(cluster.state(1), JobState::suspended);
  cluster.submit(2, cpus(8)).feed(JobHeld{JobId(1), false, true});
  EXPECT_EQ(cluster.where(2), "0:");
  EXPECT_EQ(cluster.state(1), JobState::suspended) << "not on the other server";
  cluster.finish(2);
  EXPECT_EQ(cluster.where(1), "0:");
}

TEST(WithoutGpus, dependencies_hold_for_them_and_on_them) {
  Cluster cluster({1});
  cluster.submit(1, cpus(1)).submit(2, test::after(gpus(1), {1})).submit(3, test::after(cpus(1), {2}));
  EXPECT_EQ(cluster.state(2), JobState::pending);
  cluster.finish(1);
  EXPECT_EQ(cluster.state(2), JobState::running);
  EXPECT_EQ(cluster.state(3), JobState::pending);
  cluster.finish(2);
  EXPECT_EQ(cluster.state(3), JobState::running);
}

TEST(WithoutGpus, members_of_an_array_come_up_as_far_as_there_are_cpus) {
  WithCpus cluster({1});
  cluster.submit_group(1, 100, cpus(2));
  const Group& group = *cluster.job(1).group;
  EXPECT_EQ(group.in(JobState::running), 4);
  EXPECT_LE(group.in(JobState::pending), 5);
  cluster.finish(2);
  EXPECT_EQ(group.in(JobState::running), 4);
}

TEST(WithoutGpus, policies_decide_nothing_about_them) {
  class Curious : public Policy {
   public:
    void attach(const Snapshot&) override {}
    void notice(const Snapshot& snapshot, NoticeKind, JobIndex job) override {
      EXPECT_TRUE(snapshot.job(job).request.needs_gpus());
    }
    void decide(const Snapshot& snapshot, Plan& plan) override {
      for (const auto* list : {&snapshot.waiting, &snapshot.active})
        for (const JobIndex job : *list) EXPECT_TRUE(snapshot.job(job).request.needs_gpus());
      for (std::uint32_t i = 0; i < snapshot.jobs.size(); ++i) plan.reject(JobIndex(i), ReasonCode::quota);
    }
  };
  Cluster cluster({1}, std::make_unique<Curious>());
  cluster.submit(1, cpus(1)).submit(2, gpus(1)).turn();
  EXPECT_EQ(cluster.state(1), JobState::running);
  EXPECT_FALSE(cluster.has(2));
}

TEST(WithoutGpus, edits_do_not_give_it_gpus) {
  Cluster cluster({1});
  cluster.submit(1, cpus(1)).feed(JobHeld{JobId(1), true, true});
  cluster.feed(JobEdited{.job = JobId(1), .gpus_min = 1, .gpus_max = 1, .gpus = 1});
  EXPECT_FALSE(cluster.job(1).request.needs_gpus());
  cluster.submit(2, gpus(1)).feed(JobEdited{.job = JobId(2), .gpus_min = 0, .gpus_max = 0, .gpus = 0});
  EXPECT_TRUE(cluster.job(2).request.needs_gpus());
}

}  // namespace
}  // namespace sl
