// Groups: their members come up when they might start, and they end together.
#include "core/groups.h"

#include <gtest/gtest.h>

#include "forecast/present.h"
#include "support/cluster.h"

namespace sl {
namespace {

using test::after;
using test::Cluster;
using test::gpus;

struct GroupsTest : testing::Test {
  Cluster cluster{{2, 2}};
  const Group& group(std::int64_t id) const { return *cluster.job(id).group; }
  ReasonCode why(std::int64_t id) const { return cluster.core.explain(cluster.core.find(JobId(id))); }
  JobState end_of(std::int64_t id) const {
    for (const Record& record : cluster.records) {
      if (record.job == JobId(id) && record.kind == RecordKind::job_state && is_finished(record.to)) return record.to;
    }
    return JobState::pending;
  }
  std::size_t running() const {
    std::size_t count = 0;
    for (const JobIndex job : cluster.core.active()) count += cluster.core.job(job).state == JobState::running;
    return count;
  }
};

TEST_F(GroupsTest, members_start_in_order_and_few_of_them_wait_where_policies_see_them) {
  cluster.submit_group(10, 1'000, gpus(1));
  EXPECT_EQ(running(), 4u);
  EXPECT_EQ(cluster.state(11), JobState::running);
  EXPECT_EQ(cluster.state(14), JobState::running);
  EXPECT_EQ(cluster.core.waiting().size(), 5u) << "one more than have room on empty servers";
  EXPECT_EQ(group(10).to_come.text(), "9-999");
  cluster.finish(12);
  EXPECT_EQ(cluster.state(15), JobState::running);
  EXPECT_EQ(cluster.core.unfinished(), 10u);
}

TEST_F(GroupsTest, a_job_that_came_later_starts_after_all_members) {
  cluster.submit_group(10, 20, gpus(1)).at(1).submit(40, gpus(1));
  for (std::int64_t member = 11; member <= 30; ++member) {
    EXPECT_EQ(cluster.state(40), member <= 27 ? JobState::pending : JobState::running);
    cluster.finish(member);
  }
  EXPECT_EQ(cluster.state(40), JobState::running);
  EXPECT_EQ(end_of(10), JobState::succeeded);
}

TEST_F(GroupsTest, a_member_without_room_holds_up_a_job_of_the_same_moment_behind_its_group) {
  Cluster servers({4, 2});
  const auto submit = [&](std::int64_t id, JobRequest request, std::int64_t members) {
    request.id = JobId(id), request.submitted = servers.now;
    servers.engine.feed(JobSubmitted{std::move(request), false, members, 0}, servers.now);
  };
  submit(10, gpus(4), 2);
  submit(20, gpus(1), 0);
  servers.turn();
  EXPECT_EQ(servers.state(11), JobState::running);
  EXPECT_EQ(servers.state(12), JobState::pending);
  EXPECT_EQ(servers.state(20), JobState::pending);
}

TEST_F(GroupsTest, no_more_members_run_than_may) {
  cluster.submit_group(10, 6, gpus(1), 2);
  EXPECT_EQ(running(), 2u);
  EXPECT_EQ(why(10), ReasonCode::max_running);
  EXPECT_TRUE(cluster.core.waiting().empty());
  cluster.feed(AttemptExited{JobId(11), 1, {FailureKind::exit, 1}, true});  // tried again: it keeps its place
  EXPECT_EQ(running(), 2u);
  EXPECT_EQ(group(10).to_come.count(), 4);
  cluster.finish(12);
  EXPECT_EQ(running(), 2u);
  EXPECT_EQ(group(10).to_come.count(), 3);
}

TEST_F(GroupsTest, a_group_ends_with_its_last_member_and_says_how) {
  cluster.submit_group(10, 2, gpus(1)).submit_group(20, 2, gpus(1)).submit_group(30, 2, gpus(1));
  cluster.finish(11).finish(12);
  EXPECT_EQ(end_of(10), JobState::succeeded);
  cluster.finish(21).finish(22, 1);
  EXPECT_EQ(end_of(20), JobState::failed);
  cluster.feed(JobCancelled{JobId(31)}).finish(32);
  EXPECT_EQ(end_of(30), JobState::cancelled);
  EXPECT_EQ(cluster.turn().core.unfinished(), 0u);
}

TEST_F(GroupsTest, a_job_after_a_group_waits_for_all_its_members) {
  cluster.submit_group(10, 2, gpus(1)).submit(20, after(gpus(1), {10}));
  cluster.finish(11);
  EXPECT_EQ(cluster.state(20), JobState::pending);
  cluster.finish(12);
  EXPECT_EQ(cluster.state(20), JobState::running);
}

TEST_F(GroupsTest, a_group_after_a_job_begins_when_that_has_ended) {
  cluster.submit(1, gpus(1)).submit_group(10, 3, after(gpus(1), {1}));
  EXPECT_EQ(group(10).to_come.count(), 3);
  EXPECT_EQ(why(10), ReasonCode::dependency);
  cluster.finish(1);
  EXPECT_EQ(running(), 3u);
}

TEST_F(GroupsTest, a_group_whose_forerunner_fails_fails_without_a_member_coming_up) {
  cluster.submit(1, gpus(1)).submit_group(10, 3, after(gpus(1), {1})).finish(1, 1);
  EXPECT_EQ(end_of(10), JobState::failed);
  EXPECT_EQ(cluster.turn().core.unfinished(), 0u);
}

TEST_F(GroupsTest, while_a_group_is_held_none_of_its_members_starts) {
  cluster.submit_group(10, 20, gpus(1)).feed(JobHeld{JobId(10)});
  EXPECT_EQ(cluster.state(10), JobState::held);
  EXPECT_EQ(why(15), ReasonCode::held);
  cluster.finish(11).finish(12);
  EXPECT_EQ(running(), 2u);
  cluster.submit(50, gpus(2));
  EXPECT_EQ(cluster.state(50), JobState::running) << "others pass";
  cluster.feed(JobHeld{JobId(10), false}).finish(50);
  EXPECT_EQ(running(), 4u);
}

TEST_F(GroupsTest, a_cancelled_group_ends_when_its_running_members_have) {
  cluster.submit_group(10, 20, gpus(1));
  cluster.obeys = false;
  cluster.feed(JobCancelled{JobId(10)});
  EXPECT_EQ(cluster.state(10), JobState::pending);
  EXPECT_EQ(cluster.state(11), JobState::stopping);
  for (std::int64_t member = 11; member <= 14; ++member)
    cluster.feed(AttemptExited{JobId(member), 1, {FailureKind::signal, 0, 15}});
  EXPECT_EQ(end_of(10), JobState::cancelled);
  EXPECT_EQ(cluster.turn().core.unfinished(), 0u);
}

TEST_F(GroupsTest, a_member_that_has_not_come_up_can_be_cancelled) {
  cluster.submit_group(10, 20, gpus(1)).feed(JobCancelled{JobId(25)}).feed(JobCancelled{JobId(31)});
  EXPECT_EQ(end_of(25), JobState::cancelled);
  EXPECT_EQ(group(10).to_come.text(), "9-13,15-19");
  EXPECT_EQ(cluster.core.group_of_member_to_come(JobId(24)), cluster.core.find(JobId(10)));
  EXPECT_FALSE(cluster.core.group_of_member_to_come(JobId(25)).valid());
  EXPECT_FALSE(cluster.core.group_of_member_to_come(JobId(11)).valid());
  EXPECT_FALSE(cluster.core.group_of_member_to_come(JobId(31)).valid());
  EXPECT_FALSE(cluster.core.group_of_member_to_come(JobId(10)).valid());
}

TEST_F(GroupsTest, a_job_can_follow_a_member_that_has_not_come_up) {
  cluster.submit_group(10, 20, gpus(1)).submit(50, after(gpus(1), {25})).submit(51, after(gpus(1), {30}));
  EXPECT_EQ(why(50), ReasonCode::dependency);
  for (std::int64_t member = 11; member <= 25; ++member) {
    EXPECT_EQ(cluster.state(50), JobState::pending);
    cluster.finish(member);
  }
  EXPECT_EQ(cluster.core.waiting().size(), 2u) << "job 50 and a member";
  cluster.finish(26).finish(27);
  EXPECT_EQ(cluster.state(50), JobState::running);
  cluster.feed(JobCancelled{JobId(10)});
  EXPECT_EQ(end_of(51), JobState::failed) << "member 30 never comes up";
}

TEST_F(GroupsTest, an_edited_group_changes_the_members_that_are_to_come) {
  cluster.submit_group(10, 20, gpus(1)).feed(JobEdited{JobId(10), 5, 2, 2, {}, 2});
  for (std::int64_t member = 11; member <= 19; ++member) cluster.finish(member);
  EXPECT_EQ(cluster.job(20).request.gpus, 2);
  EXPECT_EQ(cluster.job(20).request.priority, 5);
}

TEST_F(GroupsTest, members_that_wait_in_line_keep_to_a_limit_that_came_later) {
  cluster.submit(1, gpus(2)).submit(2, gpus(2)).submit_group(10, 20, gpus(1));
  EXPECT_EQ(cluster.core.waiting().size(), 5u) << "they have come up";
  cluster.feed(JobEdited{.job = JobId(10), .priority = {}, .max_running = 2});
  EXPECT_EQ(cluster.core.waiting().size(), 2u);
  EXPECT_EQ(why(13), ReasonCode::max_running);
  cluster.finish(1).finish(2);
  EXPECT_EQ(running(), 2u);
  for (std::int64_t member = 11; member <= 30; ++member) {
    EXPECT_EQ(cluster.state(member), JobState::running);
    EXPECT_LE(running(), 2u);
    cluster.finish(member);
  }
  EXPECT_EQ(end_of(10), JobState::succeeded);
}

TEST_F(GroupsTest, a_limit_below_what_runs_lets_none_begin_and_none_is_stopped) {
  cluster.submit_group(10, 6, gpus(1));
  EXPECT_EQ(running(), 4u);
  cluster.feed(JobEdited{.job = JobId(10), .priority = {}, .max_running = 1}).finish(12).finish(13).finish(14);
  EXPECT_EQ(running(), 1u) << "11";
  EXPECT_EQ(cluster.state(15), JobState::pending);
  cluster.feed(JobCancelled{JobId(15)}).finish(11);
  EXPECT_EQ(cluster.state(16), JobState::running);
}

TEST_F(GroupsTest, a_limit_that_is_raised_again_lets_them_begin) {
  cluster.submit(1, gpus(2)).submit(2, gpus(2)).submit_group(10, 20, gpus(1));
  cluster.feed(JobEdited{.job = JobId(10), .priority = {}, .max_running = 1});
  EXPECT_EQ(cluster.core.waiting().size(), 1u);
  cluster.feed(JobEdited{.job = JobId(10), .priority = {}, .max_running = 0}).finish(1).finish(2);
  EXPECT_EQ(running(), 4u);
}

TEST_F(GroupsTest, in_a_copy_members_that_awaited_gpus_keep_to_the_limit_and_begin) {
  cluster.use("priority").submit(1, test::elastic(2, 2)).submit(2, test::elastic(2, 2));
  cluster.obeys = false;
  JobRequest urgent = gpus(1);
  urgent.priority = 9;
  cluster.at(600).submit_group(10, 6, urgent);
  ASSERT_EQ(cluster.state(11), JobState::starting) << "it awaits what another has";
  cluster.feed(JobEdited{.job = JobId(10), .priority = {}, .max_running = 1});
  EXPECT_EQ(cluster.core.waiting().size(), 0u) << "four have begun";
  const auto present = forecast::copy_of(cluster.core, cluster.now);
  RequestEstimates estimates;
  Core copy(estimates, present.settings);
  Effects effects;
  forecast::restore(present, copy, effects);
  copy.set_policy(Cluster::make("priority"), cluster.now, effects);
  copy.schedule(cluster.now, effects);
  EXPECT_EQ(
      copy.waiting().size() + static_cast<std::size_t>(copy.job(copy.find(JobId(11))).state == JobState::starting), 1u);
}

TEST_F(GroupsTest, more_members_run_once_more_may_and_fewer_come_up_once_fewer_may) {
  cluster.submit_group(10, 20, gpus(1), 1);
  EXPECT_EQ(running(), 1u);
  cluster.feed(JobEdited{.job = JobId(10), .priority = {}, .max_running = 2});
  EXPECT_EQ(running(), 2u);
  cluster.feed(JobEdited{.job = JobId(10), .priority = {}, .max_running = 1}).finish(11);
  EXPECT_EQ(running(), 1u) << "those that run stay, but none comes up in place of the one that has ended";
  cluster.feed(JobEdited{.job = JobId(10), .priority = {}, .max_running = 0});
  EXPECT_EQ(running(), 4u);
}

TEST_F(GroupsTest, members_that_no_server_can_run_do_not_all_come_up) {
  cluster.submit_group(10, 1'000, gpus(3));
  EXPECT_EQ(cluster.core.unfinished(), 3u);
  EXPECT_EQ(why(10), ReasonCode::unsatisfiable);
  ServerDescription server;
  server.name = "9", server.gpus = 8;
  cluster.feed(ServerJoined{server});
  EXPECT_EQ(running(), 2u);
}

// A group of n waiting behind a running job decides like n jobs, whatever the policy.
TEST_F(GroupsTest, members_start_when_and_where_as_many_single_jobs_would) {
  for (const std::string& policy : test::policy_names()) {
    if (policy == "default") continue;  // it draws by lot
    Cluster group({2, 2}, policy), single({2, 2}, policy);
    JobRequest one = gpus(1);
    one.estimate = Duration::whole_seconds(100);
    for (Cluster* each : {&group, &single}) each->submit(1, gpus(2)).submit(2, gpus(2));
    group.at(1).submit_group(10, 6, one);
    single.at(1);
    for (std::int64_t id = 11; id <= 16; ++id) {
      one.id = JobId(id), one.submitted = single.now;
      single.engine.feed(JobSubmitted{one}, single.now);
    }
    single.turn();
    for (Cluster* each : {&group, &single}) each->at(50).finish(1).at(60).finish(2).turn();
    for (std::int64_t id = 11; id <= 16; ++id) {
      if (!group.has(id)) continue;
      EXPECT_EQ(group.where(id), single.where(id)) << policy << ", job " << id;
    }
    EXPECT_EQ(group.core.active().size(), single.core.active().size()) << policy;
  }
}

}  // namespace
}  // namespace sl
