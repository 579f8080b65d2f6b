#include "forecast/shadow.h"

#include <gtest/gtest.h>

#include <cmath>

#include "estimate/estimates.h"
#include "policies/registry.h"
#include "sim/continuation.h"

namespace sl::sim {
namespace {

using namespace forecast;

Instant at(double seconds) { return Instant::at_seconds(1'000 + seconds); }

// One GPU, in the present and later.
class ShadowTest : public testing::Test {
 protected:
  static Job job(std::int64_t id, double submitted_s, double estimate_s) {
    Job job;
    job.request.id = JobId(id);
    job.request.submitted = at(submitted_s);
    job.request.estimate = Duration::seconds(estimate_s);
    job.state = JobState::pending;
    return job;
  }
  static Present one_gpu(double seconds) {
    RequestEstimates estimates;
    Core core(estimates, {});
    Effects effects;
    core.apply(ServerJoined{{.name = "s", .gpus = 1}}, at(0), effects);
    return copy_of(core, at(seconds));
  }
  static std::vector<forecast::Trial> trials(const ShadowWindow::Replay& replay) {
    std::vector<Contender> contenders;
    for (const char* name : {"fifo", "sjf"})
      contenders.push_back({name, [name] { return std::move(*make_policy(name)); }});
    return what_if(replay.present, replay.prospects, contenders, {.continue_present = continue_present, .draws = 8});
  }
};

// fifo: 100, 199 and 208 s; sjf lets the third go before the second: 100, 209 and 108 s.
TEST_F(ShadowTest, regret_is_what_the_other_order_would_have_saved) {
  ShadowWindow window(one_gpu(0));
  window.submitted(job(1, 0, 100));
  window.submitted(job(2, 1, 100));
  window.submitted(job(3, 2, 10));
  for (const auto& [id, run_s] : {std::pair(1, 100.0), std::pair(2, 100.0), std::pair(3, 10.0)})
    window.ended(JobId(id), run_s);
  const auto regret = regret_of(trials(window.replay(one_gpu(300), {}, {})), at(300), window.since());
  ASSERT_TRUE(regret);
  EXPECT_EQ(regret->jobs, 3U);
  EXPECT_NEAR(regret->in_force_s, 169, 0.01);
  EXPECT_NEAR(regret->shadow_s, 139, 0.01);
  EXPECT_NEAR(regret->mean_s, 30, 0.01);
  EXPECT_NEAR(regret->p10_s, 30, 0.01);  // everything has ended: all futures are one
  EXPECT_NEAR(regret->p90_s, 30, 0.01);
  EXPECT_EQ(regret->since, at(0));
}

// fifo ends the third at 208, sjf at 108; the second misses its deadline under both, and that of the fourth is yet to come.
TEST_F(ShadowTest, deadlines_that_have_passed_by_then_are_missed_or_met) {
  ShadowWindow window(one_gpu(0));
  const auto add = [&window](std::int64_t id, double submitted_s, double length_s, double deadline_s) {
    Job with_deadline = job(id, submitted_s, length_s);
    with_deadline.request.deadline = at(deadline_s);
    window.submitted(with_deadline);
    window.ended(JobId(id), length_s);
  };
  add(1, 0, 100, 100);
  add(2, 1, 100, 150);
  add(3, 2, 10, 160);
  add(4, 3, 500, 600);
  const auto replay = window.replay(one_gpu(300), {}, {});
  std::vector<Contender> contenders;
  for (const char* name : {"fifo", "sjf"})
    contenders.push_back({name, [name] { return std::move(*make_policy(name)); }});
  const auto trials = what_if(replay.present, replay.prospects, contenders,
                              {.continue_present = continue_present, .until = at(300), .draws = 1});
  EXPECT_EQ(std::floor(trials[0].costs.front().late), 2);
  EXPECT_EQ(std::floor(trials[1].costs.front().late), 1);
}

TEST_F(ShadowTest, a_job_that_still_runs_keeps_what_it_has_done) {
  ShadowWindow window(one_gpu(0));
  window.submitted(job(1, 0, 100));
  Present now = one_gpu(40);
  now.jobs.push_back(job(1, 0, 100));
  now.jobs.front().state = JobState::running;
  now.jobs.front().run = Duration::whole_seconds(40);
  now.jobs.front().accounted = at(40);
  const auto replay = window.replay(now, {{.kind = {}, .progress = ReportedProgress{.left_s = 60, .share = 0.4}}}, {});
  ASSERT_EQ(replay.prospects.size(), 1U);
  EXPECT_NEAR(replay.prospects.front().ran_since_s, 40, 1e-6);
  EXPECT_NEAR(replay.prospects.front().reported_s, 60, 1e-6);
  for (const double left_s : draw_all_left_s(replay.prospects, 7)) EXPECT_GT(left_s, 40);
}

TEST_F(ShadowTest, what_ran_before_the_window_does_not_count) {
  Present base = one_gpu(50);
  base.jobs.push_back(job(1, 0, 100));
  base.jobs.front().state = JobState::running;
  base.jobs.front().run = Duration::whole_seconds(50);
  base.jobs.front().accounted = at(50);
  ShadowWindow window(base);
  window.ended(JobId(1), 90);
  const auto replay = window.replay(one_gpu(90), {}, {});
  EXPECT_NEAR(draw_all_left_s(replay.prospects, 1).front(), 40, 1e-6);
}

TEST_F(ShadowTest, jobs_that_never_ran_and_held_ones_take_no_gpu) {
  ShadowWindow window(one_gpu(0));
  window.submitted(job(1, 0, 100));
  window.submitted(job(2, 1, 100));
  window.submitted(job(3, 2, 10));
  window.ended(JobId(1), 0);  // cancelled while it waited
  window.ended(JobId(3), 10);
  Present now = one_gpu(60);
  now.jobs.push_back(job(2, 1, 100));
  now.jobs.front().on_hold = true;
  const auto all = trials(window.replay(now, {{}}, {}));
  for (const forecast::Trial& trial : all) {
    EXPECT_EQ(trial.jobs, 1U);
    EXPECT_NEAR(trial.costs.front().jct_s, 10, 0.01) << trial.name;
  }
}

TEST_F(ShadowTest, deadlines_cost_what_is_missed_and_then_how_close_jobs_come_to_theirs) {
  const auto late = [](double deadline_s) {
    ShadowWindow window(one_gpu(0));
    Job due = job(1, 0, 100);
    due.request.deadline = at(deadline_s);
    window.submitted(due);
    window.ended(JobId(1), 100);
    return trials(window.replay(one_gpu(200), {}, {})).front().costs.front().late;
  };
  EXPECT_NEAR(late(300), 0.25, 0.01);       // a third of its time: 1/3 / (1 + 1/3)
  EXPECT_NEAR(late(50), 1 + 2. / 3, 0.01);  // twice its time
}

TEST_F(ShadowTest, members_of_a_group_that_the_window_knows_come_up_in_it) {
  ShadowWindow window(one_gpu(0));
  Job group = job(1, 0, 10);
  group.group = std::make_unique<Group>();
  group.group->size = 3;
  window.submitted(group);
  Job member = job(2, 0, 10);
  member.request.member_of = JobId(1);
  window.submitted(member);
  group.group->first_member = JobId(2);
  EXPECT_EQ(window.jobs(), 1U);
  Present now = one_gpu(1);
  now.jobs.push_back(job(1, 0, 10));
  now.jobs.front().group = std::make_unique<Group>(*group.group);
  const auto replay = window.replay(now, {{}}, {});
  ASSERT_TRUE(replay.present.jobs.front().group);
  EXPECT_EQ(replay.present.jobs.front().group->to_come.count(), 3);
}

TEST_F(ShadowTest, no_regret_is_known_if_a_policy_failed) {
  std::vector<forecast::Trial> two(2);
  EXPECT_FALSE(regret_of(two, at(0), at(0)));
  two[0].costs = two[1].costs = {{.jct_s = 3}};
  EXPECT_TRUE(regret_of(two, at(0), at(0)));
  two[1].failure = invalid("policy-failed", "line 3");
  EXPECT_FALSE(regret_of(two, at(0), at(0)));
  two.pop_back();
  EXPECT_FALSE(regret_of(two, at(0), at(0)));
}

}  // namespace
}  // namespace sl::sim
