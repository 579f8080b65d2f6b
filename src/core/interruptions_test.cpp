// Jobs that are moved, suspended and cancelled while something else is in progress.
#include <gtest/gtest.h>

#include "core/interruptions_test.h"
#include "policy/policy_wrapper.h"

namespace sl {
namespace {

using test::Cluster;
using test::elastic;
using test::freezable;
using test::gpus;
using test::Interruptions;
using test::Scripted;

TEST_F(Interruptions, a_job_cancelled_while_it_is_being_suspended_is_ended_afterwards) {
  cluster.submit(1, elastic(2, 2));
  start(1, on(0, GpuSet::first(2)));
  cluster.obeys = false;
  plan([&](const Snapshot&, Plan& p) { p.suspend(index(1)); });
  cluster.feed(JobCancelled{JobId(1)});
  EXPECT_EQ(cluster.records.back().kind, RecordKind::job_edited) << "its row is written before the order to stop";
  cluster.feed(AttemptSuspended{JobId(1), 1});
  EXPECT_EQ(cluster.sent.back().kind, CommandKind::stop);
  EXPECT_EQ(cluster.sent.back().why, StopReason::cancelled);
  cluster.feed(AttemptExited{JobId(1), 1, {FailureKind::signal, 0, 15}});
  EXPECT_EQ(cluster.state(1), JobState::cancelled);
}

TEST_F(Interruptions, a_suspended_job_that_is_cancelled_leaves_the_policys_queue_at_once) {
  cluster.submit(1, elastic(2, 2));
  start(1, on(0, GpuSet::first(2)));
  plan([&](const Snapshot&, Plan& p) { p.suspend(index(1)); });
  EXPECT_EQ(cluster.state(1), JobState::suspended);
  EXPECT_EQ(Scripted::queued, std::vector<std::int64_t>{1});
  cluster.obeys = false;
  cluster.feed(JobCancelled{JobId(1)});
  EXPECT_EQ(cluster.state(1), JobState::stopping);
  EXPECT_TRUE(Scripted::queued.empty());
}

TEST_F(Interruptions, a_frozen_process_that_dies_and_is_retried_waits_once_not_twice) {
  cluster.submit(1, elastic(2, 2));
  start(1, on(0, GpuSet::first(2)));
  plan([&](const Snapshot&, Plan& p) { p.suspend(index(1)); });
  cluster.feed(AttemptExited{JobId(1), 1, {FailureKind::signal, 0, 9}, true});
  EXPECT_EQ(cluster.state(1), JobState::pending);
  EXPECT_EQ(Scripted::queued, std::vector<std::int64_t>{1});
}

TEST_F(Interruptions, a_job_that_can_only_be_frozen_continues_on_its_server_and_nowhere_else) {
  cluster.submit(1, freezable(2));
  start(1, on(0, GpuSet::first(2)));
  plan([&](const Snapshot&, Plan& p) { p.suspend(index(1)); });
  EXPECT_EQ(cluster.state(1), JobState::suspended);
  start(1, on(1, GpuSet::first(2)));
  EXPECT_EQ(cluster.state(1), JobState::suspended);
  EXPECT_EQ(cluster.core.refusals(Refusal::not_interruptible), 1U);
  start(1, on(0, GpuSet::first(2)));
  EXPECT_EQ(cluster.state(1), JobState::running);
  EXPECT_EQ(cluster.job(1).attempt, 1);
}

// Its memory is not free when its GPUs are: the next job must fit beside it.
TEST_F(Interruptions, a_job_may_not_follow_one_that_is_frozen_and_leaves_too_little_memory) {
  ServerDescription server;
  server.name = "0";
  server.gpus = 2;
  server.gpu_memory_bytes = 10;
  cluster.feed(ServerJoined{server});
  JobRequest frozen = freezable(2), next = gpus(2);
  frozen.gpu_memory_bytes = 6, next.gpu_memory_bytes = 5;
  cluster.submit(1, frozen).submit(2, next);
  start(1, on(0, GpuSet::first(2)));
  plan([&](const Snapshot&, Plan& p) {
    p.suspend(index(1));
    p.start(index(2), on(0, GpuSet::first(2)));
  });
  EXPECT_EQ(cluster.state(1), JobState::suspended);
  EXPECT_EQ(cluster.state(2), JobState::pending);
  EXPECT_GE(cluster.core.refusals(Refusal::type_or_memory), 1U);
}

TEST_F(Interruptions, a_job_with_checkpoints_may_continue_anywhere) {
  cluster.submit(1, elastic(2, 2));
  start(1, on(0, GpuSet::first(2)));
  plan([&](const Snapshot&, Plan& p) { p.suspend(index(1)); });
  start(1, on(1, GpuSet::first(2)));
  EXPECT_EQ(cluster.where(1), "1:0,1");
}

TEST_F(Interruptions, a_job_on_several_servers_is_not_frozen) {
  JobRequest request = freezable(6);
  request.servers_max = any_number_of_servers;
  cluster.submit(1, request);
  Allocation both = on(0, GpuSet::first(4));
  both.add(ServerIndex(1), GpuSet::first(2));
  start(1, both);
  plan([&](const Snapshot&, Plan& p) { p.suspend(index(1)); });
  EXPECT_EQ(cluster.state(1), JobState::running);
}

TEST_F(Interruptions, a_frozen_job_whose_server_is_lost_begins_anew) {
  cluster.submit(1, freezable(2));
  start(1, on(0, GpuSet::first(2)));
  plan([&](const Snapshot&, Plan& p) { p.suspend(index(1)); });
  cluster.feed(ServerLost{"0"});
  EXPECT_EQ(cluster.state(1), JobState::pending);
  EXPECT_EQ(Scripted::queued, std::vector<std::int64_t>{1});
  start(1, on(1, GpuSet::first(2)));
  EXPECT_EQ(cluster.job(1).attempt, 2);
}

TEST_F(Interruptions, every_policy_lets_a_frozen_job_continue_where_it_stands) {
  cluster.submit(1, freezable(2));
  start(1, on(1, GpuSet::first(2)));
  plan([&](const Snapshot&, Plan& p) { p.suspend(index(1)); });
  for (const std::string& policy : test::policy_names()) {
    cluster.use(policy);
    for (int i = 0; i < 10'000 && cluster.state(1) != JobState::running; ++i) {
      cluster.now = cluster.now + Duration::whole_seconds(1);
      cluster.turn();
    }
    EXPECT_EQ(cluster.where(1), "1:0,1") << policy;
    EXPECT_EQ(cluster.core.refusals(Refusal::not_interruptible), 0U) << policy;
    cluster.core.set_policy(std::make_unique<Scripted>(script), cluster.now, cluster.engine.effects());
    plan([&](const Snapshot&, Plan& p) { p.suspend(index(1)); });
  }
}

TEST_F(Interruptions, a_moving_job_that_is_cancelled_is_not_started_by_the_last_gpu_it_was_promised) {
  cluster.submit(1, elastic(2, 2)).submit(2, elastic(2, 2));
  start(1, on(0, GpuSet::first(2)));
  start(2, on(1, GpuSet::first(2)));
  cluster.obeys = false;
  plan([&](const Snapshot&, Plan& p) {
    p.preempt(index(2));
    p.migrate(index(1), on(1, GpuSet::first(2)));
  });
  EXPECT_EQ(cluster.state(1), JobState::migrating);
  cluster.feed(JobCancelled{JobId(1)});
  const std::size_t sent = cluster.sent.size();
  cluster.feed(AttemptReleased{JobId(2), 1});
  EXPECT_EQ(cluster.sent.size(), sent);
  EXPECT_EQ(cluster.job(1).migrations, 0) << "it has not moved";
  cluster.feed(AttemptExited{JobId(1), 1, {FailureKind::signal, 0, 15}});
  EXPECT_EQ(cluster.core.ledger().gpus_in_use(), 0);
}

TEST_F(Interruptions, a_job_that_has_stopped_to_move_starts_again_on_the_gpus_it_was_moving_to) {
  cluster.submit(1, elastic(1, 2));
  start(1, on(0, GpuSet::first(2)));
  cluster.obeys = false;
  plan([&](const Snapshot&, Plan& p) { p.resize(index(1), on(1, GpuSet::first(1))); });
  EXPECT_EQ(cluster.core.ledger().gpus_in_use(), 3);
  cluster.at(7).feed(AttemptReleased{JobId(1), 1});
  EXPECT_EQ(cluster.state(1), JobState::starting);
  EXPECT_EQ(cluster.where(1), "1:0");
  EXPECT_EQ(cluster.core.ledger().gpus_in_use(), 1);  // what it has left is free before it runs again
  EXPECT_EQ(cluster.sent.back().kind, CommandKind::start);
  EXPECT_EQ(cluster.sent.back().attempt, 2);
  EXPECT_TRUE(cluster.sent.back().resume);
  EXPECT_EQ(cluster.job(1).preemptions, 0);
  EXPECT_EQ(cluster.job(1).resizes, 1);
  cluster.feed(AttemptStarted{JobId(1), 1});  // of the attempt that has stopped
  EXPECT_EQ(cluster.state(1), JobState::starting);
  cluster.feed(AttemptStarted{JobId(1), 2});
  EXPECT_EQ(cluster.state(1), JobState::running);
}

TEST_F(Interruptions,
       a_job_whose_process_is_lost_while_it_awaits_the_gpus_it_moves_to_starts_there_once_they_are_free) {
  cluster.submit(1, elastic(2, 2)).submit(2, elastic(2, 2));
  start(1, on(0, GpuSet::first(2)));
  start(2, on(1, GpuSet::first(2)));
  cluster.obeys = false;
  plan([&](const Snapshot&, Plan& p) {
    p.preempt(index(2));
    p.migrate(index(1), on(1, GpuSet::first(2)));
  });
  const std::size_t sent = cluster.sent.size();
  cluster.feed(AttemptReleased{JobId(1), 1});
  EXPECT_EQ(cluster.state(1), JobState::starting);
  EXPECT_EQ(cluster.sent.size(), sent);
  cluster.feed(AttemptReleased{JobId(2), 1});
  EXPECT_EQ(cluster.sent.back().kind, CommandKind::start);
  EXPECT_EQ(cluster.sent.back().job, JobId(1));
}

TEST_F(Interruptions, a_job_that_has_stopped_to_move_to_a_server_that_is_down_goes_back_to_the_queue) {
  cluster.submit(1, elastic(2, 2));
  start(1, on(0, GpuSet::first(2)));
  cluster.obeys = false;
  plan([&](const Snapshot&, Plan& p) { p.migrate(index(1), on(1, GpuSet::first(2))); });
  cluster.feed(ServerSilent{"1"}).feed(AttemptReleased{JobId(1), 1});
  EXPECT_EQ(cluster.state(1), JobState::pending);
  EXPECT_EQ(cluster.core.ledger().gpus_in_use(), 0);
}

TEST_F(Interruptions, a_job_that_has_stopped_to_move_to_a_gpu_that_broke_goes_back_to_the_queue) {
  cluster.submit(1, elastic(2, 2));
  start(1, on(0, GpuSet::first(2)));
  cluster.obeys = false;
  plan([&](const Snapshot&, Plan& p) { p.migrate(index(1), on(1, GpuSet::first(2))); });
  cluster.feed(TelemetrySampled{.server = "1", .unavailable = GpuSet::only(1)}).feed(AttemptReleased{JobId(1), 1});
  EXPECT_EQ(cluster.state(1), JobState::pending);
  EXPECT_EQ(cluster.core.ledger().gpus_in_use(), 0);
}

TEST_F(Interruptions, a_job_that_moves_to_a_server_that_is_lost_is_stopped_where_it_runs) {
  cluster.submit(1, elastic(2, 2));
  start(1, on(0, GpuSet::first(2)));
  cluster.obeys = false;
  plan([&](const Snapshot&, Plan& p) { p.migrate(index(1), on(1, GpuSet::first(2))); });
  cluster.feed(ServerLost{"1"});
  EXPECT_EQ(cluster.state(1), JobState::stopping);  // its process runs on
  EXPECT_EQ(cluster.sent.back().kind, CommandKind::stop);
  EXPECT_EQ(cluster.where(1), "0:0,1");
  cluster.feed(AttemptReleased{JobId(1), 1});
  EXPECT_EQ(cluster.state(1), JobState::pending);
  EXPECT_EQ(cluster.core.ledger().gpus_in_use(), 0);
}

TEST_F(Interruptions, a_moving_job_that_is_to_be_stopped_goes_back_to_the_queue) {
  cluster.submit(1, elastic(2, 2));
  start(1, on(0, GpuSet::first(2)));
  cluster.obeys = false;
  plan([&](const Snapshot&, Plan& p) { p.migrate(index(1), on(1, GpuSet::first(2))); });
  cluster.feed(JobPreempted{JobId(1)});
  EXPECT_EQ(cluster.state(1), JobState::stopping);
  EXPECT_EQ(cluster.sent.back().kind, CommandKind::stop);
  cluster.feed(AttemptReleased{JobId(1), 1});
  EXPECT_EQ(cluster.state(1), JobState::pending);
  EXPECT_EQ(cluster.core.ledger().gpus_in_use(), 0);
}

TEST_F(Interruptions, nothing_is_started_on_a_lost_server_by_what_others_give_up_there) {
  cluster.submit(1, elastic(4, 4)).submit(2, elastic(4, 4));
  start(1, on(0, GpuSet::first(4)));
  cluster.obeys = false;
  plan([&](const Snapshot&, Plan& p) {
    p.preempt(index(1));
    p.start(index(2), on(0, GpuSet::first(4)));
  });
  const std::size_t sent = cluster.sent.size();
  cluster.feed(ServerLost{"0"});
  EXPECT_EQ(cluster.sent.size(), sent);
  EXPECT_EQ(cluster.state(1), JobState::pending);
  EXPECT_EQ(cluster.state(2), JobState::pending);
}

TEST_F(Interruptions, cpus_follow_a_job_that_moves_and_shrinks) {
  start_with_six_cpus();
  EXPECT_EQ(cpus_used(0), 6);
  cluster.obeys = false;
  plan([&](const Snapshot&, Plan& p) { p.migrate(index(1), on(1, GpuSet::first(2))); });
  EXPECT_EQ(cpus_used(0), 6);  // both, until it runs there
  EXPECT_EQ(cpus_used(1), 6);
  cluster.feed(AttemptStarted{JobId(1), 1});
  EXPECT_EQ(cpus_used(0), 0);
  plan([&](const Snapshot&, Plan& p) { p.resize(index(1), on(1, GpuSet::first(1))); });
  cluster.feed(AttemptStarted{JobId(1), 1});
  EXPECT_EQ(cpus_used(1), 6);
  cluster.finish(1);
  EXPECT_EQ(cpus_used(1), 0);
}

TEST_F(Interruptions, a_job_whose_move_was_called_off_and_that_froze_instead_moves_nowhere) {
  start_with_six_cpus();
  cluster.obeys = false;
  plan([&](const Snapshot&, Plan& p) { p.migrate(index(1), on(1, GpuSet::first(2))); });
  cluster.feed(ServerLost{"1"});
  EXPECT_EQ(cluster.state(1), JobState::stopping);
  cluster.feed(AttemptSuspended{JobId(1), 1});
  EXPECT_EQ(cluster.state(1), JobState::suspended);
  EXPECT_TRUE(cluster.job(1).target.empty());
  EXPECT_EQ(cpus_used(0), 0);
  EXPECT_EQ(cpus_used(1), 0);
}

TEST_F(Interruptions, a_move_to_a_server_without_enough_cpus_is_refused) {
  ServerDescription server;
  server.gpus = 4;
  server.name = "1";
  server.capacity[Resource::cpu] = 4;
  cluster.feed(ServerJoined{server});
  JobRequest request = elastic(2, 2);
  request.demand[Resource::cpu] = 6;
  cluster.submit(1, request);
  start(1, on(0, GpuSet::first(2)));
  plan([&](const Snapshot&, Plan& p) { p.migrate(index(1), on(1, GpuSet::first(2))); });
  EXPECT_EQ(cluster.core.refusals(Refusal::resources_taken), 1u);
  EXPECT_EQ(cluster.state(1), JobState::running);
}

TEST_F(Interruptions, a_server_that_comes_back_with_more_gpus_keeps_its_jobs) {
  ServerDescription server;
  server.gpus = 4;
  for (const char* name : {"0", "1"}) {
    server.name = name;
    cluster.feed(ServerJoined{server});
  }
  cluster.submit(1, gpus(2));
  start(1, on(0, GpuSet::first(2)));
  cluster.submit(2, gpus(4));
  start(2, on(1, GpuSet::first(4)));
  server.name = "0";
  server.gpus = 8;
  cluster.feed(ServerJoined{server});
  EXPECT_EQ(cluster.core.ledger().free().count(ServerIndex(0)), 6);
  cluster.submit(3, gpus(2));
  start(3, on(0, GpuSet{0xC0}));
  EXPECT_EQ(cluster.state(3), JobState::running);
  for (const int job : {1, 2, 3}) cluster.finish(job);
  EXPECT_EQ(cluster.core.ledger().free().count(ServerIndex(0)), 8);
  EXPECT_EQ(cluster.core.ledger().gpus_in_use(), 0);
}

TEST_F(Interruptions, a_time_limit_given_to_a_running_job_counts_from_its_start) {
  cluster.submit(1, gpus(1));
  start(1, on(0, GpuSet::first(1)));
  JobEdited edit{JobId(1), {}, {}, {}, Duration::whole_seconds(30)};
  cluster.at(10).feed(edit);
  EXPECT_EQ(cluster.core.next_wake(), Instant::at_seconds(30));
  cluster.at(30).turn();
  EXPECT_EQ(cluster.state(1), JobState::failed);
}

TEST_F(Interruptions, an_edit_that_contradicts_itself_leaves_the_gpus_as_they_were) {
  cluster.submit(1, elastic(2, 3));
  cluster.feed(JobEdited{JobId(1), 7, 4, 1, {}});
  EXPECT_EQ(cluster.job(1).request.gpus_min, 2);
  EXPECT_EQ(cluster.job(1).request.gpus_max, 3);
  EXPECT_EQ(cluster.job(1).request.priority, 7);
}

TEST_F(Interruptions, gpus_cannot_be_shared_on_a_server_that_is_draining) {
  JobRequest request = gpus(1);
  request.shareable = true;
  cluster.submit(1, request).feed(ServerDrained{"0"});
  plan([&](const Snapshot&, Plan& p) { p.share(index(1), on(0, GpuSet::first(1))); });
  EXPECT_EQ(cluster.state(1), JobState::pending);
  EXPECT_EQ(cluster.core.refusals(Refusal::server_not_up), 1u);
}

// Passes on a policy's decisions, but asks for more GPUs than one job may have: the core refuses that start.
class Meddler : public PolicyWrapper {
 public:
  Meddler(const std::string& name, std::int64_t job) : PolicyWrapper(Cluster::make(name)), job_(job) {}
  void decide(const Snapshot& snapshot, Plan& plan) override {
    policy_->decide(snapshot, plan);
    for (Decision& decision : plan.decisions()) {
      if (snapshot.job(decision.job).request.id == job_) decision.gpus = Allocation(ServerIndex(0), GpuSet::first(64));
    }
  }

 private:
  JobId job_;
};

TEST(Refusals,
     what_a_refused_start_was_to_take_goes_to_the_next_job_also_when_the_refused_one_ends_before_it_is_asked) {
  for (const char* policy : {"srtf", "tiresias", "priority"}) {
    Cluster cluster({1}, std::make_unique<Meddler>(policy, 1));
    JobRequest request = gpus(1);
    request.estimate = Duration::whole_seconds(10);
    JobSubmitted first{request}, second{request};
    first.request.id = JobId(1), second.request.id = JobId(2);
    cluster.engine.feed(std::move(first), cluster.now);
    cluster.engine.feed(std::move(second), cluster.now);
    cluster.turn();
    ASSERT_EQ(cluster.core.refusals(Refusal::wrong_gpu_count), 1u) << policy;
    cluster.feed(JobCancelled{JobId(1)}).turn();
    EXPECT_EQ(cluster.state(2), JobState::running) << policy;
  }
}

TEST_F(Interruptions, a_note_about_an_empty_slot_does_not_reach_the_next_job_that_gets_it) {
  cluster.submit(1, gpus(1)).feed(JobCancelled{JobId(1)});
  plan([](const Snapshot&, Plan& p) { p.annotate(JobIndex(0), 42); });
  cluster.submit(2, gpus(1));
  EXPECT_EQ(index(2), JobIndex(0));
  EXPECT_EQ(cluster.job(2).annotation, 0);
}

TEST_F(Interruptions, gpus_are_kept_for_a_frozen_job_on_the_server_it_is_frozen_on) {
  const auto lasting = [](double seconds) {
    JobRequest request = gpus(4);
    request.estimate = Duration::seconds(seconds);
    return request;
  };
  JobRequest freezable = lasting(50);
  freezable.capability = Capability::freeze, freezable.freezable = true;
  cluster.submit(1, freezable);
  start(1, on(0, GpuSet::first(4)));
  plan([&](const Snapshot&, Plan& p) { p.suspend(index(1)); });
  cluster.submit(2, lasting(100)).submit(3, lasting(10));
  start(2, on(0, GpuSet::first(4)));
  start(3, on(1, GpuSet::first(4)));
  cluster.use("fifo_easy");
  const auto kept = cluster.core.reservations(cluster.now);
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept.front().at, Instant::at_seconds(100));
  EXPECT_EQ(kept.front().on, (std::vector<ServerCount>{{ServerIndex(0), 4}}));
  cluster.submit(4, lasting(500)).finish(3);
  EXPECT_EQ(cluster.where(4), "1:0,1,2,3");  // what is kept is not here
}

TEST_F(Interruptions, what_members_need_follows_a_job_that_shrinks) {
  give_cpus(16);
  JobRequest request = elastic(1, 3);
  auto model = std::make_shared<JobModel>();
  model->roles = {{"server", 1, 1, 0, {}}, {"worker", 1, 3, 1, {}}};
  model->roles[0].demand[Resource::cpu] = 5;
  model->roles[1].demand[Resource::cpu] = 2;
  request.model = model;
  request.servers_max = any_number_of_servers;
  request.demand = Demand(request).of_ranks(0, 3, 3);
  cluster.submit(1, request);
  Allocation gpus = on(1, GpuSet::first(1));
  gpus.append(ServerIndex(0), GpuSet::first(2));
  start(1, gpus);
  EXPECT_EQ(cpus_used(1), 7);
  EXPECT_EQ(cpus_used(0), 4);
  plan([&](const Snapshot&, Plan& p) { p.resize(index(1), on(0, GpuSet::first(2))); });
  EXPECT_EQ(cpus_used(1), 0);
  EXPECT_EQ(cpus_used(0), 9);
  cluster.finish(1);
  EXPECT_EQ(cpus_used(0), 0);
}

TEST_F(Interruptions, a_number_of_gpus_that_a_job_may_not_have_is_refused) {
  JobRequest request = gpus(4);
  request.gpus_min = 1;
  JobModel model;
  model.gpu_counts_allowed = {1, 2, 4};
  request.model = std::make_shared<const JobModel>(model);
  cluster.submit(1, request);
  start(1, on(0, GpuSet::first(3)));
  EXPECT_EQ(cluster.core.refusals(Refusal::wrong_gpu_count), 1u);
  start(1, on(0, GpuSet::first(2)));
  EXPECT_EQ(cluster.where(1), "0:0,1");
}

}  // namespace
}  // namespace sl
