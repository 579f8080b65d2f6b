#include <gtest/gtest.h>

#include "support/workload.h"

namespace sl {
namespace {

using test::Cluster;
using test::gpus;
using test::with_speedup;
using test::Workload;

const GivenParameters at_once = {{"preempt_margin_s", "0"}, {"min_quantum_s", "0"}};

// policies.md 4.1: 2 GPUs; A (2 GPUs, 100 s) at 0; B (1, 20 s) and C (1, 30 s) at 10.
Workload& worked_example(Workload& load) {
  return load.job(1, 0, 100, gpus(2)).job(2, 10, 20, gpus(1)).job(3, 10, 30, gpus(1)).run();
}

TEST(Srtf, the_worked_example_preempts_the_long_job_until_both_short_ones_are_done) {
  Cluster cluster({2}, "srtf", at_once);
  Workload load(cluster);
  worked_example(load);
  EXPECT_EQ(load.ended(2), 30);
  EXPECT_EQ(load.ended(3), 40);
  EXPECT_EQ(load.ended(1), 130);
}

TEST(Sjf, the_worked_example_waits_for_the_long_job_because_nobody_is_preempted) {
  Cluster cluster({2}, "sjf");
  Workload load(cluster);
  worked_example(load);
  EXPECT_EQ(load.ended(1), 100);
  EXPECT_EQ(load.ended(2), 120);
  EXPECT_EQ(load.ended(3), 130);
}

// At 10, job 5 takes the place of job 2, and job 4 that of job 1, which leaves a GPU to job 3. Job 2 has less left than
// job 3, which has only just started.
TEST(Srtf, a_job_that_has_just_started_gives_way_without_waiting_for_another_event) {
  Cluster cluster({3, 1}, "srtf", at_once);
  Workload load(cluster);
  load.job(1, 0, 100, gpus(3)).job(2, 0, 110, gpus(1)).job(3, 1, 400, gpus(1));
  load.job(4, 10, 10, gpus(2)).job(5, 10, 1, gpus(1)).run(10.5);
  EXPECT_EQ(cluster.state(2), JobState::running);
  EXPECT_EQ(cluster.state(3), JobState::pending);
}

// When the policy wants to be asked next, compared with one that is chosen now.
void expect_wake_of_a_fresh_one(Cluster& cluster, const std::string& policy) {
  const Instant wanted = cluster.core.next_wake();
  EXPECT_EQ(cluster.use(policy).core.next_wake(), wanted) << policy;
}

TEST(Preemption, a_job_that_has_been_starting_for_a_while_wakes_nobody_before_it_runs) {
  for (const char* policy : {"srtf", "srjf", "tiresias"}) {
    Cluster cluster({2}, policy);
    cluster.obeys = false;
    cluster.submit(1, gpus(2)).at(10).submit(2, gpus(1));
    ASSERT_EQ(cluster.state(1), JobState::starting);
    EXPECT_TRUE(cluster.core.next_wake().is_never());
    expect_wake_of_a_fresh_one(cluster, policy);
  }
}

TEST(Preemption, a_job_that_was_started_and_cancelled_at_one_instant_wakes_nobody_later) {
  for (const char* policy : {"srtf", "srjf", "tiresias"}) {
    Cluster cluster({2}, policy);
    cluster.obeys = false;
    cluster.submit(1, gpus(2));
    ASSERT_EQ(cluster.core.next_wake(), cluster.now + Duration::whole_seconds(60)) << "the quantum of job 1";
    cluster.feed(JobCancelled{JobId(1)}).submit(2, gpus(1));
    EXPECT_TRUE(cluster.core.next_wake().is_never());
    expect_wake_of_a_fresh_one(cluster, policy);
  }
}

TEST(Preemption, what_starts_now_is_known_to_a_policy_that_is_chosen_now) {
  Cluster cluster({2}, "srtf");
  cluster.obeys = false;
  cluster.submit(1, gpus(2)).submit(2, gpus(1));
  EXPECT_EQ(cluster.core.next_wake(), cluster.now + Duration::whole_seconds(60));
  expect_wake_of_a_fresh_one(cluster, "srtf");
}

// W: A 90 on 2 GPUs with s(2) = 1.5, B 70 on 1 GPU: srjf serves B first, srtf A (60 s left on its 2 GPUs).
Workload& ordering_example(Workload& load) {
  JobRequest a = with_speedup(gpus(2), {1, 1.5});
  return load.job(9, 0, 10, gpus(2)).job(1, 1, 60, a).job(2, 1, 70, gpus(1)).run(11);
}

TEST(Srjf, orders_by_work_on_one_gpu_where_srtf_orders_by_time_on_the_gpus_asked_for) {
  Cluster by_work({2}, "srjf", at_once), by_time({2}, "srtf", at_once);
  Workload first(by_work), second(by_time);
  ordering_example(first);
  ordering_example(second);
  EXPECT_EQ(by_work.state(2), JobState::running);
  EXPECT_EQ(by_work.state(1), JobState::pending);
  EXPECT_EQ(by_time.state(1), JobState::running);
  EXPECT_EQ(by_time.state(2), JobState::pending);
}

TEST(Srjf, gives_every_job_its_minimum) {
  Cluster cluster({4}, "srjf", at_once);
  cluster.submit(1, test::elastic(1, 4)).submit(2, test::elastic(2, 4));
  EXPECT_EQ(cluster.job(1).allocation.count(), 1);
  EXPECT_EQ(cluster.job(2).allocation.count(), 2);
}

// 90 s on 2 GPUs are more service than 100 s on one.
TEST(Srsf, orders_by_time_multiplied_by_gpus) {
  Cluster cluster({2}, "srsf", at_once);
  Workload load(cluster);
  load.job(9, 0, 10, gpus(2)).job(1, 1, 90, gpus(2)).job(2, 1, 100, gpus(1)).run(11);
  EXPECT_EQ(cluster.state(2), JobState::running);
  EXPECT_EQ(cluster.state(1), JobState::pending);
}

TEST(Srsf, a_wide_job_whose_service_melts_faster_becomes_safe_from_preemption) {
  Cluster cluster({2}, "srsf", at_once);
  Workload load(cluster);
  load.job(1, 0, 100, gpus(2)).job(2, 60, 85, gpus(1)).run(61);
  EXPECT_EQ(cluster.state(1), JobState::running);  // 39 s x 2 are left, less than 85
}

TEST(Sgf, fewer_gpus_first_then_earlier_submission) {
  Cluster cluster({4}, "sgf");
  Workload load(cluster);
  load.job(9, 0, 10, gpus(4)).job(1, 1, 50, gpus(3)).job(2, 2, 50, gpus(1)).job(3, 3, 50, gpus(1)).run(10);
  EXPECT_EQ(cluster.where(2), "0:0");
  EXPECT_EQ(cluster.where(3), "0:1");
  EXPECT_EQ(cluster.state(1), JobState::pending);
}

TEST(Srtf, equal_jobs_do_not_preempt_one_another) {
  Cluster cluster({1}, "srtf", at_once);
  Workload load(cluster);
  load.job(1, 0, 50, gpus(1)).job(2, 0, 50, gpus(1)).run();
  EXPECT_EQ(load.ended(1), 50);
  EXPECT_EQ(load.ended(2), 100);
}

TEST(Srtf, a_difference_within_the_margin_preempts_nobody) {
  Cluster cluster({1}, "srtf", {{"preempt_margin_s", "60"}, {"min_quantum_s", "0"}});
  Workload load(cluster);
  load.job(1, 0, 100, gpus(1)).job(2, 10, 40, gpus(1)).run();
  EXPECT_EQ(load.ended(1), 100);
  EXPECT_EQ(load.ended(2), 140);
}

TEST(Srtf, a_job_is_left_alone_for_its_first_quantum_and_preempted_at_its_end) {
  Cluster cluster({1}, "srtf", {{"preempt_margin_s", "0"}, {"min_quantum_s", "30"}});
  Workload load(cluster);
  load.job(1, 0, 500, gpus(1)).job(2, 10, 20, gpus(1)).run();
  EXPECT_EQ(load.ended(2), 50);
  EXPECT_EQ(load.ended(1), 520);
}

TEST(Srtf, stops_the_job_with_most_left_and_no_more_than_needed) {
  Cluster cluster({4}, "srtf", at_once);
  Workload load(cluster);
  load.job(1, 0, 300, gpus(1)).job(2, 0, 500, gpus(1)).job(3, 0, 400, gpus(2)).job(4, 10, 50, gpus(1)).run(11);
  EXPECT_EQ(cluster.state(2), JobState::pending);
  EXPECT_EQ(cluster.state(3), JobState::running);
  EXPECT_EQ(cluster.state(4), JobState::running);
}

TEST(Srtf, spares_a_small_victim_when_a_bigger_one_has_to_go_anyway) {
  Cluster cluster({4}, "srtf", at_once);
  Workload load(cluster);
  load.job(1, 0, 500, gpus(1)).job(2, 0, 400, gpus(3)).job(3, 10, 50, gpus(3)).run(11);
  EXPECT_EQ(cluster.state(1), JobState::running);  // the least urgent, but its one GPU would not have been enough
  EXPECT_EQ(cluster.state(2), JobState::pending);
  EXPECT_EQ(cluster.state(3), JobState::running);
}

TEST(Srtf, a_job_that_cannot_be_stopped_keeps_its_gpus) {
  Cluster cluster({1}, "srtf", at_once);
  JobRequest rigid = gpus(1);
  rigid.estimate = Duration::whole_seconds(1000);
  JobRequest quick = gpus(1);
  quick.estimate = Duration::whole_seconds(1);
  cluster.submit(1, rigid).submit(2, quick);
  EXPECT_EQ(cluster.state(1), JobState::running);
  EXPECT_EQ(cluster.core.refusals(Refusal::not_interruptible), 0u);
}

TEST(Srtf, a_job_over_two_servers_takes_the_place_of_the_least_urgent_on_both) {
  Cluster cluster({2, 2}, "srtf", at_once);
  Workload load(cluster);
  JobRequest wide = gpus(3);
  wide.servers_max = any_number_of_servers;
  for (std::int64_t id = 1; id <= 4; ++id) load.job(id, 0, 100.0 * static_cast<double>(id), gpus(1));
  load.job(5, 1, 10, wide).run(2);
  EXPECT_EQ(cluster.state(1), JobState::running);
  for (std::int64_t id = 2; id <= 4; ++id) EXPECT_EQ(cluster.state(id), JobState::pending);
  EXPECT_EQ(cluster.job(5).allocation.count(), 3);
}

TEST(Srtf, a_job_that_was_still_starting_when_a_shorter_one_came_is_stopped_once_it_runs) {
  Cluster cluster({1}, "srtf", at_once);
  JobRequest longer = test::elastic(1, 1), shorter = gpus(1);
  longer.estimate = Duration::whole_seconds(1000);
  shorter.estimate = Duration::whole_seconds(1);
  cluster.obeys = false;
  cluster.submit(1, longer).at(1).submit(2, shorter);
  EXPECT_EQ(cluster.state(1), JobState::starting);
  cluster.at(2).feed(AttemptStarted{JobId(1), 1});
  cluster.at(2.000001).turn();
  EXPECT_EQ(cluster.state(1), JobState::stopping);
}

// What the first victim leaves unused goes to a job that arrived while it was stopping.
TEST(Srtf, a_job_that_comes_while_others_stop_gets_what_they_leave) {
  Cluster cluster({4}, "srtf", at_once);
  const auto lasting = [](int count, int seconds) {
    JobRequest request = test::gpus(count);
    request.capability = Capability::checkpoint;
    request.estimate = Duration::whole_seconds(seconds);
    return request;
  };
  cluster.submit(1, lasting(4, 1000));
  cluster.obeys = false;
  cluster.at(10).submit(2, lasting(2, 50));
  cluster.at(20).submit(3, lasting(2, 60));
  EXPECT_EQ(cluster.state(1), JobState::stopping);
  EXPECT_EQ(cluster.state(3), JobState::pending);
  cluster.at(30).feed(AttemptReleased{JobId(1), cluster.job(1).attempt});
  EXPECT_EQ(cluster.state(3), JobState::starting);
}

// Puts every job on the first GPU, together with those already there.
class Packed : public Policy {
 public:
  void attach(const Snapshot&) override {}
  void notice(const Snapshot&, NoticeKind, JobIndex) override {}
  void decide(const Snapshot& snapshot, Plan& plan) override {
    for (const JobIndex job : snapshot.waiting) plan.share(job, Allocation(ServerIndex(0), GpuSet::first(1)));
  }
};

TEST(Srtf, cpus_that_a_job_gives_back_count_though_its_gpu_stays_shared) {
  Cluster cluster({2}, std::make_unique<Packed>());
  ServerDescription server = cluster.core.servers()[ServerIndex(0)].description;
  server.capacity[Resource::cpu] = 8;
  cluster.feed(ServerJoined{server});
  JobRequest request = gpus(1);
  request.demand[Resource::cpu] = 4;
  request.shareable = true;
  cluster.submit(1, request).submit(2, request).use("srtf", at_once);
  cluster.at(10).submit(3, request);
  EXPECT_EQ(cluster.state(3), JobState::pending) << "a GPU is free, no CPU is";
  cluster.at(20).finish(1);
  EXPECT_EQ(cluster.state(3), JobState::running);
}

// Erratum: never-profiled jobs must not look shortest.
TEST(Srtf, a_job_without_estimate_counts_as_long_as_finished_jobs_like_it) {
  Cluster cluster({1}, "srtf", at_once);
  const auto of_family = [](std::uint32_t family) {
    JobRequest request = gpus(1);
    request.user = UserIndex(0);
    request.family = FamilyIndex(family);
    return request;
  };
  cluster.submit(1, of_family(0)).at(1000).finish(1);
  cluster.submit(2, of_family(1)).at(1010).finish(2);
  cluster.submit(3, gpus(1)).submit(4, of_family(0)).submit(5, of_family(1));
  cluster.finish(3);
  EXPECT_EQ(cluster.state(5), JobState::running);  // 10 s like job 2; job 4 counts as 1000 s
  EXPECT_EQ(cluster.state(4), JobState::pending);
}

TEST(Sjf, a_job_that_cannot_fit_now_lets_shorter_and_longer_ones_pass) {
  Cluster cluster({4}, "sjf");
  Workload load(cluster);
  load.job(9, 0, 100, gpus(2)).job(1, 1, 10, gpus(3)).job(2, 1, 20, gpus(2)).run(2);
  EXPECT_EQ(cluster.state(2), JobState::running);
  EXPECT_EQ(cluster.state(1), JobState::pending);
}

}  // namespace
}  // namespace sl
