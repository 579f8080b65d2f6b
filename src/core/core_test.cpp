#include <gtest/gtest.h>

#include <algorithm>

#include "support/cluster.h"

namespace sl {
namespace {

using test::Cluster;
using test::elastic;
using test::gpus;

TEST(Core, starts_a_job_on_the_gpus_of_lowest_index_and_frees_them_when_it_ends) {
  Cluster cluster({4});
  cluster.submit(1, gpus(2));
  EXPECT_EQ(cluster.state(1), JobState::running);
  EXPECT_EQ(cluster.where(1), "0:0,1");
  cluster.at(10).finish(1);
  EXPECT_EQ(cluster.state(1), JobState::succeeded);
  EXPECT_EQ(cluster.core.ledger().gpus_in_use(), 0);
  EXPECT_EQ(cluster.job(1).attained_gpu_us, 20'000'000);
}

TEST(Core, an_exit_code_other_than_zero_is_a_failure_and_is_recorded_as_one) {
  Cluster cluster({4});
  cluster.submit(1, gpus(1)).finish(1, 3);
  EXPECT_EQ(cluster.state(1), JobState::failed);
  EXPECT_EQ(cluster.records.back().exit.exit_code, 3);
}

TEST(Core, a_finished_job_leaves_the_table_in_the_next_step) {
  Cluster cluster({4});
  cluster.submit(1, gpus(1)).finish(1).submit(2, gpus(1));
  EXPECT_FALSE(cluster.has(1));
  EXPECT_TRUE(cluster.has(2));
}

TEST(Core, a_job_that_is_submitted_twice_is_there_once_as_it_was_first) {
  Cluster cluster({4});
  cluster.submit(1, gpus(2)).submit(1, gpus(3)).submit(2, gpus(2));
  EXPECT_EQ(cluster.core.unfinished(), 2U);
  EXPECT_EQ(cluster.where(1), "0:0,1");
  EXPECT_EQ(cluster.where(2), "0:2,3");
  cluster.finish(1).submit(3, gpus(1)).submit(1, gpus(1));
  EXPECT_EQ(cluster.where(1), "0:1");
}

TEST(Core, a_waiting_job_can_be_cancelled_at_once_and_a_running_one_is_stopped) {
  Cluster cluster({1});
  cluster.submit(1, gpus(1)).submit(2, gpus(1));
  cluster.feed(JobCancelled{JobId(2)});
  EXPECT_EQ(cluster.state(2), JobState::cancelled);
  cluster.obeys = false;
  cluster.feed(JobCancelled{JobId(1)});
  EXPECT_EQ(cluster.state(1), JobState::stopping);
  EXPECT_EQ(cluster.sent.back().why, StopReason::cancelled);
}

TEST(Core, a_job_cancelled_while_it_ends_well_has_succeeded) {
  Cluster cluster({1});
  cluster.submit(1, gpus(1));
  cluster.obeys = false;
  cluster.feed(JobCancelled{JobId(1)}).finish(1);
  EXPECT_EQ(cluster.state(1), JobState::succeeded);
}

TEST(Core, a_job_that_ends_well_because_it_is_cancelled_is_cancelled) {
  Cluster cluster({1});
  cluster.submit(1, gpus(1));
  cluster.obeys = false;
  cluster.feed(JobCancelled{JobId(1)});
  cluster.feed(AttemptExited{.job = JobId(1), .attempt = 1, .exit = {}, .was_asked = true});
  EXPECT_EQ(cluster.state(1), JobState::cancelled);
}

TEST(Core, news_of_an_attempt_that_is_over_changes_nothing) {
  Cluster cluster({1});
  cluster.submit(1, gpus(1));
  cluster.feed(AttemptExited{JobId(1), 7, {FailureKind::exit, 1}});
  EXPECT_EQ(cluster.state(1), JobState::running);
  cluster.feed(AttemptStarted{JobId(1), 1});
  EXPECT_EQ(cluster.state(1), JobState::running);
}

TEST(Core, a_time_limit_stops_the_attempt_and_makes_it_fail) {
  Cluster cluster({1});
  JobRequest request = gpus(1);
  request.time_limit = Duration::whole_seconds(60);
  cluster.submit(1, request);
  EXPECT_EQ(cluster.core.next_wake(), Instant::at_seconds(60));
  cluster.at(59).turn();
  EXPECT_EQ(cluster.state(1), JobState::running);
  cluster.at(60).turn();
  EXPECT_EQ(cluster.state(1), JobState::failed);
}

// After a restart a policy in Python is still being read: nothing but its arrival may wake the core.
TEST(Core, without_a_policy_nobody_is_woken_and_the_first_one_decides_about_all_who_came_before) {
  const RequestEstimates estimates;
  Core core(estimates, {});
  Effects effects;
  const Instant now = Instant::at_seconds(5);
  core.apply(ServerJoined{{.name = "a", .gpus = 1}}, now, effects);
  JobRequest request = gpus(1);
  request.id = JobId(1);
  core.apply(JobSubmitted{request}, now, effects);
  core.schedule(now, effects);
  EXPECT_EQ(core.next_wake(), Instant::never());
  core.set_policy(Cluster::make("fifo"), now, effects);
  EXPECT_EQ(core.next_wake(), now);
  core.schedule(now, effects);
  EXPECT_EQ(core.job(core.find(JobId(1))).state, JobState::starting);
}

TEST(Core, a_lost_server_sends_its_jobs_back_to_the_queue_with_their_submission_time) {
  Cluster cluster({2, 2});
  cluster.submit(1, gpus(2)).at(5).feed(ServerLost{"0"});
  EXPECT_EQ(cluster.where(1), "1:0,1");
  EXPECT_EQ(cluster.job(1).attempt, 2);
  EXPECT_EQ(cluster.job(1).request.submitted, Instant::at_seconds(0));
}

TEST(Core, a_silent_server_keeps_its_jobs_and_gets_no_new_ones) {
  Cluster cluster({2});
  cluster.submit(1, gpus(1)).feed(ServerSilent{"0"}).submit(2, gpus(1));
  EXPECT_EQ(cluster.state(1), JobState::running);
  EXPECT_EQ(cluster.state(2), JobState::pending);
  EXPECT_EQ(cluster.core.explain(cluster.core.find(JobId(2))), ReasonCode::server_down);
}

TEST(Core, a_quarantined_server_keeps_its_jobs_and_gets_new_ones_once_it_is_released) {
  Cluster cluster({2});
  cluster.submit(1, gpus(1)).feed(ServerQuarantined{"0"}).submit(2, gpus(1));
  EXPECT_EQ(cluster.state(1), JobState::running);
  EXPECT_EQ(cluster.state(2), JobState::pending);
  EXPECT_EQ(cluster.core.explain(cluster.core.find(JobId(2))), ReasonCode::quarantined);
  cluster.feed(ServerQuarantined{"0", false});
  EXPECT_EQ(cluster.state(2), JobState::running);
}

TEST(Core, only_a_server_that_is_up_can_be_quarantined_and_only_a_quarantined_one_released) {
  Cluster cluster({2});
  cluster.feed(ServerSilent{"0"}).feed(ServerQuarantined{"0"});
  EXPECT_EQ(cluster.core.servers()[ServerIndex(0)].state, ServerState::down);
  cluster.feed(ServerQuarantined{"0", false});
  EXPECT_EQ(cluster.core.servers()[ServerIndex(0)].state, ServerState::down);
}

TEST(Core, a_server_is_removed_only_when_it_is_down_and_empty_and_may_join_again) {
  Cluster cluster({2, 1});
  const auto state = [&] { return cluster.core.servers()[ServerIndex(0)].state; };
  cluster.submit(1, gpus(2)).feed(ServerRemoved{"0"});
  EXPECT_EQ(state(), ServerState::up);
  cluster.feed(ServerSilent{"0"}).feed(ServerRemoved{"0"});
  EXPECT_EQ(state(), ServerState::down);
  cluster.feed(ServerLost{"0"}).feed(ServerRemoved{"0"}).feed(ServerSilent{"0"});
  EXPECT_EQ(state(), ServerState::removed);
  EXPECT_EQ(cluster.state(1), JobState::pending);
  cluster.feed(ServerJoined{{.name = "0", .gpus = 2}});
  EXPECT_EQ(state(), ServerState::up);
  EXPECT_EQ(cluster.where(1), "0:0,1");
}

TEST(Core, gpus_used_by_others_are_not_given_out) {
  Cluster cluster({2});
  cluster.feed(TelemetrySampled{"0", std::vector<GpuFacts>(2), GpuSet::only(0), {}});
  cluster.submit(1, gpus(1)).submit(2, gpus(1));
  EXPECT_EQ(cluster.where(1), "0:1");
  EXPECT_EQ(cluster.state(2), JobState::pending);
}

TEST(Core, a_held_job_waits_until_it_is_released) {
  Cluster cluster({1});
  JobRequest request = gpus(1);
  request.id = JobId(1);
  cluster.feed(JobSubmitted{request, true});
  EXPECT_EQ(cluster.state(1), JobState::held);
  cluster.feed(JobHeld{JobId(1), false});
  EXPECT_EQ(cluster.state(1), JobState::running);
}

TEST(Core, a_question_about_a_later_time_leaves_the_clock_alone) {
  Cluster cluster({1}, Cluster::make("fair_share"));
  cluster.submit(1, gpus(1)).submit(2, gpus(1));
  EXPECT_EQ(cluster.core.queue_order(Instant::at_seconds(1000)).size(), 1u);
  EXPECT_EQ(cluster.core.explain(cluster.core.find(JobId(2))), ReasonCode::no_free_gpus);
  cluster.at(10).finish(1);
  EXPECT_EQ(cluster.core.history().back().run, Duration::whole_seconds(10));
  EXPECT_EQ(cluster.job(2).placed, Instant::at_seconds(10));
}

TEST(Core, a_policy_that_rejects_a_job_says_why_in_the_record) {
  Cluster cluster({1}, Cluster::make("edf", {{"late_mode", "reject"}}));
  JobRequest request = gpus(1);
  request.estimate = Duration::whole_seconds(100);
  request.deadline = Instant::at_seconds(10);
  cluster.submit(1, request);
  ASSERT_EQ(cluster.state(1), JobState::failed);
  const auto rejected = std::ranges::find(cluster.records, JobState::failed, &Record::to);
  EXPECT_EQ(rejected->exit.failure, FailureKind::rejected);
  EXPECT_EQ(rejected->reason, ReasonCode::unsatisfiable);
}

TEST(Core, says_whether_too_few_gpus_are_free_or_only_scattered) {
  Cluster cluster({2, 2});
  cluster.submit(1, gpus(1)).submit(2, gpus(2)).finish(1);
  cluster.submit(3, gpus(1)).submit(4, gpus(1));  // best fit: server 0 for both
  cluster.finish(3).submit(5, gpus(2));
  const auto why = [&](std::int64_t id) { return cluster.core.explain(cluster.core.find(JobId(id))); };
  EXPECT_EQ(why(5), ReasonCode::no_free_gpus);
  cluster.finish(2).submit(6, gpus(1)).submit(7, gpus(2));
  EXPECT_EQ(cluster.state(5), JobState::running);
  EXPECT_EQ(why(7), ReasonCode::no_free_gpus);
}

// A policy that does once what a test says.
class Told : public Policy {
 public:
  explicit Told(std::function<void(const Snapshot&, Plan&)> what) : what_(std::move(what)) {}
  void attach(const Snapshot&) override {}
  void notice(const Snapshot&, NoticeKind, JobIndex) override {}
  void decide(const Snapshot& snapshot, Plan& plan) override { what_(snapshot, plan); }

 private:
  std::function<void(const Snapshot&, Plan&)> what_;
};

TEST(Core, asks_the_policy_again_when_a_job_leaves_a_gpu_to_others) {
  int asked = 0;
  Cluster cluster({1}, std::make_unique<Told>([&](const Snapshot& s, Plan& plan) {
                    ++asked;
                    for (const JobIndex job : s.waiting) plan.share(job, Allocation(ServerIndex(0), GpuSet::first(1)));
                  }));
  JobRequest request = gpus(1);
  request.shareable = true;
  cluster.submit(1, request).submit(2, request);
  const int before = asked;
  cluster.finish(1);
  EXPECT_EQ(asked, before + 1);
}

TEST(Core, gpus_of_a_preempted_job_go_straight_to_the_one_they_were_promised_to) {
  bool swap = false;
  Cluster cluster({2}, std::make_unique<Told>([&](const Snapshot& s, Plan& plan) {
                    for (const JobIndex job : s.waiting) {
                      if (s.job(job).request.id == JobId(1) && !swap)
                        plan.start(job, Allocation(ServerIndex(0), GpuSet::first(2)));
                      if (s.job(job).request.id == JobId(2))
                        plan.start(job, Allocation(ServerIndex(0), GpuSet::first(2)));
                    }
                    if (swap) {
                      for (const JobIndex job : s.active) plan.preempt(job);
                    }
                  }));
  cluster.submit(1, elastic(2, 2));
  cluster.obeys = false;
  swap = true;
  cluster.submit(2, gpus(2));
  EXPECT_EQ(cluster.state(1), JobState::stopping);
  EXPECT_EQ(cluster.state(2), JobState::starting);
  EXPECT_EQ(cluster.job(2).gpus_awaited, 2);
  EXPECT_EQ(cluster.sent.back().kind, CommandKind::stop);  // no start before the release
  swap = false;
  cluster.at(7).feed(AttemptReleased{JobId(1), 1});
  EXPECT_EQ(cluster.core.ledger().tenants()[ServerIndex(0)][1].started, Instant::at_seconds(7));
  EXPECT_EQ(cluster.sent.back().kind, CommandKind::start);
  EXPECT_EQ(cluster.sent.back().job, JobId(2));
  EXPECT_EQ(cluster.state(1), JobState::pending);
  EXPECT_EQ(cluster.job(1).preemptions, 1);
}

TEST(Core, a_resize_keeps_the_old_gpus_until_the_job_runs_on_the_new_ones) {
  bool grow = false;
  Cluster cluster({4}, std::make_unique<Told>([&](const Snapshot& s, Plan& plan) {
                    for (const JobIndex job : s.waiting) plan.start(job, Allocation(ServerIndex(0), GpuSet::first(1)));
                    if (!grow) return;
                    for (const JobIndex job : s.active) plan.resize(job, Allocation(ServerIndex(0), GpuSet::first(3)));
                  }));
  cluster.submit(1, elastic(1, 4));
  cluster.obeys = false;
  grow = true;
  cluster.submit(2, gpus(1));  // asks the policy; the GPU it gets is taken, so it is refused
  EXPECT_EQ(cluster.state(1), JobState::resizing);
  EXPECT_EQ(cluster.core.ledger().gpus_in_use(), 3);
  grow = false;
  cluster.feed(AttemptStarted{JobId(1), 1});
  EXPECT_EQ(cluster.where(1), "0:0,1,2");
}

TEST(Core, invalid_decisions_are_refused_counted_and_change_nothing) {
  Cluster cluster({2}, std::make_unique<Told>([&](const Snapshot& s, Plan& plan) {
                    for (const JobIndex job : s.waiting) {
                      plan.start(job, Allocation(ServerIndex(0), GpuSet::first(1)));
                      plan.start(job, Allocation(ServerIndex(0), GpuSet::first(2)));
                    }
                    for (const JobIndex job : s.active) plan.preempt(job);
                    plan.start(JobIndex(99), Allocation(ServerIndex(7), GpuSet::first(1)));
                  }));
  cluster.submit(1, gpus(2));
  EXPECT_EQ(cluster.where(1), "0:0,1");
  cluster.submit(2, gpus(1));
  EXPECT_EQ(cluster.state(1), JobState::running);  // it cannot be interrupted
  EXPECT_GT(cluster.core.refusals(Refusal::wrong_gpu_count), 0u);
  EXPECT_GT(cluster.core.refusals(Refusal::gpus_taken), 0u);
  EXPECT_GT(cluster.core.refusals(Refusal::not_interruptible), 0u);
  EXPECT_GT(cluster.core.refusals(Refusal::unknown_job), 0u);
}

TEST(Core, where_the_world_cannot_suspend_a_job_is_stopped_at_a_checkpoint_instead) {
  CoreSettings live;
  live.abilities = {.suspend = false, .freeze = false, .migrate = false, .resize = false};
  Cluster cluster({1}, std::make_unique<Told>([&](const Snapshot& s, Plan& plan) {
                    if (s.waiting.empty() || s.now < Instant::at_seconds(10)) {
                      for (const JobIndex job : s.waiting)
                        plan.start(job, Allocation(ServerIndex(0), GpuSet::first(1)));
                      return;
                    }
                    for (const JobIndex job : s.active) plan.suspend(job);
                    plan.start(s.waiting.front(), Allocation(ServerIndex(0), GpuSet::first(1)));
                  }),
                  live);
  cluster.submit(1, elastic(1, 1)).at(10).submit(2, elastic(1, 1));
  EXPECT_GE(cluster.core.refusals(Refusal::world_cannot), 1u);
  EXPECT_EQ(cluster.state(2), JobState::running);
  EXPECT_EQ(cluster.state(1), JobState::pending);
}

TEST(Core, what_the_world_cannot_do_is_refused_with_that_reason) {
  CoreSettings live;
  live.abilities = {.suspend = false, .freeze = false, .migrate = false, .resize = false};
  Cluster cluster({2}, std::make_unique<Told>([&](const Snapshot& s, Plan& plan) {
                    for (const JobIndex job : s.waiting) plan.start(job, Allocation(ServerIndex(0), GpuSet::first(1)));
                    for (const JobIndex job : s.active) plan.resize(job, Allocation(ServerIndex(0), GpuSet::first(2)));
                  }),
                  live);
  cluster.submit(1, elastic(1, 2)).submit(2, elastic(1, 2));
  EXPECT_GE(cluster.core.refusals(Refusal::world_cannot), 1u);
}

TEST(Core, losses_stand_at_their_epoch_gaps_are_filled_evenly_and_an_epoch_that_comes_again_counts_anew) {
  Cluster cluster({1});
  cluster.submit(1, gpus(1));
  const auto tell = [&](int epoch, double loss) {
    AttemptProgressed told{JobId(1), 1};
    told.epoch = epoch, told.loss = loss;
    cluster.feed(told);
    return cluster.job(1).telemetry->loss_by_epoch;
  };
  EXPECT_EQ(tell(1, 4), (std::vector<double>{4}));
  EXPECT_EQ(tell(4, 1), (std::vector<double>{4, 3, 2, 1}));
  EXPECT_EQ(tell(0, 0.5), (std::vector<double>{4, 3, 2, 1, 0.5}));
  EXPECT_EQ(tell(2, 2.5), (std::vector<double>{4, 2.5}));
  EXPECT_EQ(tell(2'000'000'000, 1).size(), 2U);
}

TEST(Core, how_busy_the_gpus_of_a_job_are_becomes_its_telemetry) {
  Cluster cluster({1});
  cluster.submit(1, gpus(1));
  AttemptProgressed told{JobId(1), 1};
  told.gpu_utilization_pct = 71;
  told.gpu_memory_used_bytes = 5;
  cluster.feed(told);
  EXPECT_EQ(cluster.job(1).telemetry->gpu_utilization_pct, 71);
  EXPECT_EQ(cluster.job(1).telemetry->gpu_memory_used_bytes, 5);
}

// As after a restart: policies count a job's expected end from when it got its GPUs.
TEST(Core, a_restored_job_has_held_its_gpus_since_it_started) {
  RequestEstimates estimates;
  Core core(estimates, CoreSettings{});
  Effects effects;
  const Instant now = Instant::at_seconds(1'000), started = Instant::at_seconds(400);
  core.apply(ServerJoined{{.name = "s", .gpus = 2}}, now, effects);
  const auto running = [&](std::int64_t id) {
    Job job;
    job.request.id = JobId(id);
    job.state = JobState::running;
    job.attempt = 1;
    job.first_start = job.last_start = job.accounted = started;
    job.allocation = Allocation(ServerIndex(0), GpuSet::first(1));
    return job;
  };
  ASSERT_TRUE(core.restore(running(1), now).ok());
  EXPECT_EQ(core.ledger().tenants()[ServerIndex(0)][0].started, started);
  EXPECT_EQ(core.restore(running(1), now).error().code, "duplicate-job");
  EXPECT_EQ(core.restore(running(2), now).error().code, "gpus-taken");
  EXPECT_EQ(core.ledger().gpus_in_use(), 1);
}

}  // namespace
}  // namespace sl
