// Groups in the controller: rows, restarts, refusals, and what people may do to members.
#include "controller/explain.h"
#include "controller/logic_test.h"

namespace sl::controller::test {
namespace {

class GroupsLogicTest : public LogicTest {
 protected:
  void submit_group(const std::string& array, int max_running = 0) {
    Logic::Submission submission;
    submission.spec.command = std::vector<std::string>{"run", "{index}"};
    submission.spec.workdir = "/";
    submission.spec.array = array;
    submission.spec.max_running = max_running;
    logic->submit(std::move(submission), now, [this](Result<JobId> job) { answers.push_back(std::move(job)); });
  }
  std::string cancel(std::int64_t job) {
    std::string said;
    logic->cancel(JobId(job), "mei", now, [&](const Result<JobId>& r) { said = r.ok() ? "ok" : r.error().code; });
    settle();
    return said;
  }
  std::string edit(std::int64_t job, int priority) {
    std::string said;
    logic->edit(JobId(job), {.priority = priority}, "mei", now,
                [&](const Result<JobId>& r) { said = r.ok() ? "ok" : r.error().code; });
    settle();
    return said;
  }
  std::string change(std::int64_t job, const wire::JobChange& wanted) {
    std::string said;
    logic->edit(JobId(job), wanted, "mei", now, [&](const Result<JobId>& r) { said = r.ok() ? "ok" : r.error().code; });
    settle();
    return said;
  }
  std::string members(std::int64_t group) const { return world.jobs.at(group).extra_json; }
};

TEST_F(GroupsLogicTest, one_row_stands_for_members_until_they_come_up) {
  hello();
  submit_group("10-99"), settle();
  EXPECT_EQ(world.jobs.size(), 6U) << "the group, two that start and three that stand in line";
  EXPECT_EQ(members(1), R"({"to_come":"5-89","pending":3,"starting":2})");
  EXPECT_EQ(world.jobs.at(2).group_id, 1);
  EXPECT_EQ(world.jobs.at(2).member_index, 10);
  EXPECT_EQ(world.jobs.at(2).spec_json.find("array"), std::string::npos);
  EXPECT_EQ(std::get<std::vector<std::string>>(world.all<wire::StartAttempt>()[1].spec.command)[1], "11");
  submit(1), settle();
  EXPECT_EQ(answers.back()->value, 92);
}

TEST_F(GroupsLogicTest, that_it_has_started_is_told_once) {
  const auto starts = [&] {
    return std::ranges::count_if(world.events, [](const store::EventRow& event) {
      return event.kind == "job.group_started" && event.job_id == 1;
    });
  };
  hello();
  submit_group("0-9"), settle();
  EXPECT_EQ(starts(), 0) << "its members are starting";
  tell(report(2, 1, "running"));
  tell(report(3, 1, "running"));
  EXPECT_EQ(starts(), 1);
}

TEST_F(GroupsLogicTest, its_members_are_counted_and_not_the_group) {
  const auto counts = [&] {
    std::string text;
    for (int s = 0; s <= static_cast<int>(JobState::cancelled); ++s) {
      const auto state = static_cast<JobState>(s);
      if (const std::int64_t jobs = count_jobs(*logic, state); jobs != 0)
        text += std::to_string(jobs) + " " + to_string(state) + " ";
    }
    return text;
  };
  hello();
  submit_group("0-9", 3), settle();
  EXPECT_EQ(counts(), "8 pending 2 starting ");
  EXPECT_EQ(change(1, {.hold = true}), "ok");
  EXPECT_EQ(counts(), "8 held 2 starting ");
  EXPECT_EQ(change(1, {.hold = false}), "ok");
  tell(report(2, 1, "running")), tell(report(2, 1, "exited", 0));
  EXPECT_EQ(cancel(9), "ok");
  const std::string before = counts();
  EXPECT_EQ(before, "6 pending 2 starting 1 succeeded 1 cancelled ");
  totals = {{"succeeded", 1}, {"cancelled", 1}};
  restart();
  EXPECT_EQ(counts(), before);
  hello({report(3, 1, "running"), report(4, 1, "running")});
  for (std::int64_t job = 3; job <= 11; ++job) {
    if (job != 9) tell(report(job, 1, "running")), tell(report(job, 1, "exited", 0));
  }
  EXPECT_EQ(world.jobs.at(1).state, "cancelled");
  EXPECT_EQ(counts(), "9 succeeded 1 cancelled ");
  totals = {{"succeeded", 9}, {"cancelled", 2, 1}};
  restart();
  EXPECT_EQ(counts(), "9 succeeded 1 cancelled ");
  logic->remove_history({.jobs = {{1, "cancelled", true}, {2, "succeeded"}}}, now, [](const Status&) {});
  settle();
  EXPECT_EQ(counts(), "8 succeeded 1 cancelled ");
}

TEST_F(GroupsLogicTest, after_a_restart_no_member_is_lost_or_comes_up_twice) {
  hello();
  submit_group("0-9", 3), settle();
  tell(report(2, 1, "running")), tell(report(2, 1, "exited", 0));
  EXPECT_EQ(cancel(9), "ok");
  const std::string before = members(1);
  EXPECT_EQ(before, R"({"to_come":"4-6,8-9","pending":1,"starting":2,"succeeded":1,"cancelled":1})");
  restart();
  EXPECT_EQ(members(1), before);
  submit(1), settle();
  EXPECT_EQ(answers.back()->value, 12);
  hello({report(3, 1, "running"), report(4, 1, "running")});
  for (std::int64_t job = 3; job <= 11; ++job) {
    if (job == 9) continue;
    tell(report(job, 1, "running")), tell(report(job, 1, "exited", job == 5 ? 1 : 0));
  }
  EXPECT_EQ(world.jobs.at(1).state, "failed");
  EXPECT_EQ(members(1), R"({"succeeded":8,"failed":1,"cancelled":1})");
  EXPECT_EQ(logic->core().unfinished(), 1U) << "the job after it";
}

TEST_F(GroupsLogicTest, a_group_that_is_served_first_keeps_the_order_of_its_members) {
  hello();
  submit(2), settle();
  submit(1), settle();
  submit_group("0-2"), settle();
  const auto priority = [&](std::int64_t job) {
    return logic->core().job(logic->core().find(JobId(job))).request.priority;
  };
  EXPECT_EQ(change(3, {.first = true}), "ok");
  EXPECT_EQ(priority(3), 1);
  EXPECT_EQ(priority(4), 1) << "as its group, not one more than the others of its group";
  EXPECT_EQ(change(2, {.before = 3}), "ok") << "a group is a place to stand before";
  EXPECT_EQ(priority(2), 2);
  EXPECT_EQ(change(3, {.before = 2}), "ok") << "and can be moved";
  EXPECT_EQ(priority(3), 3);
  EXPECT_EQ(priority(5), 3);
}

TEST_F(GroupsLogicTest, a_group_that_cannot_be_written_leaves_nothing) {
  hello();
  answers.clear();
  submit_group("0-9");
  logic->turn(now);
  EXPECT_EQ(logic->core().unfinished(), 4U) << "the group and three members";
  commit(unavailable("disk-full", "full"));
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_FALSE(answers[0].ok());
  pass(2);
  EXPECT_TRUE(world.jobs.empty());
  EXPECT_EQ(logic->core().unfinished(), 0U);
  EXPECT_EQ(logic->core().ledger().gpus_in_use(), 0);
  EXPECT_TRUE(world.all<wire::StartAttempt>().empty());
}

TEST_F(GroupsLogicTest, a_member_that_has_not_come_up_is_shown_cancelled_and_not_changed) {
  hello();
  submit_group("0-9"), settle();
  ASSERT_TRUE(logic->member_to_come(JobId(9)).has_value());
  EXPECT_EQ(logic->member_to_come(JobId(9))->row.member_index, 7);
  EXPECT_FALSE(logic->member_to_come(JobId(2)).has_value());
  EXPECT_FALSE(logic->member_to_come(JobId(12)).has_value());
  EXPECT_EQ(edit(9, 5), "member-to-come");
  EXPECT_EQ(edit(12, 5), "job-not-found");
  EXPECT_EQ(cancel(9), "ok");
  EXPECT_EQ(state(9), "cancelled");
  EXPECT_EQ(cancel(9), "job-finished");
}

TEST_F(GroupsLogicTest, how_many_members_run_at_once_is_changed_and_stays_so) {
  hello();
  submit_group("0-9", 1), settle();
  EXPECT_EQ(members(1), R"({"to_come":"1-9","starting":1})");
  EXPECT_EQ(change(1, {.max_running = 2}), "ok");
  EXPECT_EQ(members(1), R"({"to_come":"2-9","starting":2})");
  restart();
  EXPECT_EQ(logic->core().job(logic->core().find(JobId(1))).group->max_running, 2);
  EXPECT_EQ(change(1, {.max_running = -1}), "bad-max-running");
  EXPECT_EQ(change(2, {.max_running = 2}), "bad-max-running") << "a member is no array";
  std::vector<std::string> edits;
  for (const store::EventRow& event : world.events) {
    if (event.kind == "job.edited") edits.push_back(event.text);
  }
  EXPECT_EQ(edits, (std::vector<std::string>{"members at once 1 → 2"}));
}

TEST_F(GroupsLogicTest, numbers_of_members_that_never_came_up_are_not_given_out_again) {
  hello();
  submit_group("0-99"), settle();
  for (std::int64_t job = 2; job <= 3; ++job) tell(report(job, 1, "running"));
  EXPECT_EQ(cancel(1), "ok");
  for (std::int64_t job = 2; job <= 3; ++job) tell(report(job, 1, "exited", 1));
  EXPECT_EQ(state(1), "cancelled");
  restart();
  submit(1), settle();
  EXPECT_EQ(answers.back()->value, 102);
}

TEST_F(GroupsLogicTest, a_damaged_record_of_members_ends_the_group_alone) {
  for (const char* damage : {"{", R"({"to_come":"0-10"})", R"({"to_come":7})", R"({"running":-1})", R"({"lost":1})"}) {
    world = World();
    restart();
    submit_group("0-9"), settle();
    submit(1), settle();
    world.jobs.at(1).extra_json = damage;
    restart();
    EXPECT_EQ(state(1), "failed") << damage;
    EXPECT_EQ(state(12), "pending") << damage;
  }
}

TEST_F(GroupsLogicTest, a_changed_group_changes_members_that_wait_and_those_to_come) {
  hello();
  submit_group("0-9"), settle();
  EXPECT_EQ(edit(1, 5), "ok");
  EXPECT_EQ(world.jobs.at(4).priority, 5);
  EXPECT_EQ(logic->member_to_come(JobId(9))->row.id, 9);
  tell(report(2, 1, "running")), tell(report(2, 1, "exited", 0));
  EXPECT_EQ(world.jobs.at(6).priority, 5) << "it came up since";
  EXPECT_EQ(change(1, {.name = "lr-{index}"}), "ok");
  EXPECT_EQ(world.jobs.at(3).name, "lr-1") << "it runs";
  EXPECT_EQ(world.jobs.at(6).name, "lr-4");
  EXPECT_EQ(world.jobs.at(1).name, "lr-{index}");
}

TEST_F(GroupsLogicTest, a_time_limit_for_a_group_is_not_for_members_that_run) {
  hello();
  submit_group("0-9"), settle();
  tell(report(2, 1, "running"));
  EXPECT_EQ(change(1, {.priority = 3, .time_limit_s = 2}), "ok");
  const auto& core = logic->core();
  EXPECT_FALSE(core.job(core.find(JobId(2))).request.time_limit) << "it runs";
  EXPECT_EQ(core.job(core.find(JobId(2))).request.priority, 3) << "no other member goes before it";
  EXPECT_EQ(core.job(core.find(JobId(4))).request.time_limit, Duration::whole_seconds(2));
}

TEST_F(GroupsLogicTest, what_holds_a_group_and_what_releases_it_undo_each_other) {
  hello();
  submit(2), settle();  // all GPUs
  tell(report(1, 1, "running"));
  submit_group("0-5"), settle();
  EXPECT_EQ(change(2, {.hold = true}), "ok");
  const auto& core = logic->core();
  EXPECT_EQ(core.waiting().size(), 0U);
  for (const JobId member : core.unfinished_members(JobId(2))) EXPECT_FALSE(core.job(core.find(member)).on_hold);
  EXPECT_EQ(change(2, {.hold = false}), "ok");
  EXPECT_EQ(core.waiting().size(), 3U);
}

TEST_F(GroupsLogicTest, a_limit_below_what_stands_in_line_outlives_a_restart) {
  hello();
  submit(2), settle();  // all GPUs
  tell(report(1, 1, "running"));
  submit_group("0-5"), settle();
  EXPECT_EQ(logic->core().waiting().size(), 3U);
  EXPECT_EQ(change(2, {.max_running = 1}), "ok");
  EXPECT_EQ(logic->core().waiting().size(), 1U);
  restart();
  hello({report(1, 1, "running")});
  EXPECT_EQ(logic->core().waiting().size(), 1U);
  tell(report(1, 1, "exited", 0));
  EXPECT_EQ(state(3), "starting");
  EXPECT_EQ(state(4), "pending");
}

TEST_F(GroupsLogicTest, a_member_that_waits_for_its_retry_can_be_held) {
  hello();
  Logic::Submission submission;
  submission.spec.command = "true", submission.spec.workdir = "/";
  submission.spec.retry.max = 3, submission.spec.retry.backoff_s = 30;
  logic->submit(std::move(submission), now, [](const Result<JobId>&) {});
  settle();
  tell(report(1, 1, "running")), tell(report(1, 1, "exited", 3));
  EXPECT_EQ(state(1), "held");
  EXPECT_EQ(change(1, {.priority = 4, .hold = true}), "ok");
  EXPECT_EQ(change(1, {.hold = true}), "job-held");
  for (int i = 0; i < 3; ++i) pass(20), keep_session();
  EXPECT_EQ(state(1), "held") << "until its user releases it";
  EXPECT_EQ(change(1, {.hold = false}), "ok");
  EXPECT_EQ(state(1), "starting");
}

TEST_F(GroupsLogicTest, nobody_is_told_of_single_members) {
  hello();
  submit_group("0-3"), settle();
  EXPECT_EQ(change(2, {.notify = {{{"failed"}, "team"}}}), "bad-notify");
}

TEST_F(GroupsLogicTest, a_group_none_of_whose_members_waits_says_what_they_do) {
  hello();
  const auto why = [&] { return explain_view(*logic, *logic->book().find(JobId(1)), now).summary; };
  submit_group("0-9", 4), settle();
  EXPECT_EQ(why(), "8 of the 10 members of group 1 wait: first in line, needs 1 free GPU");
  EXPECT_EQ(change(4, {.hold = true}), "ok");
  EXPECT_EQ(change(5, {.hold = true}), "ok");
  EXPECT_EQ(
      why(),
      "of the members of group 1 that have not ended, 2 run, 2 are held by their user (schedulearn resume 4); 6 more "
      "wait: at most 4 may have begun and not ended (max_running)");
  EXPECT_EQ(change(1, {.max_running = 1}), "ok");
  EXPECT_EQ(change(4, {.hold = false}), "ok");
  EXPECT_EQ(why(), "7 of the 10 members of group 1 wait: 2 of its members run, and 1 may at once (max_running)");
  EXPECT_EQ(change(4, {.first = true}), "job-not-in-line");
}

TEST_F(GroupsLogicTest, prerequisites_must_exist_and_be_able_to_succeed) {
  hello();
  submit_group("0-9"), settle();
  submit(1), settle();
  cancel(12);
  const auto check = [&](std::vector<std::int64_t> after, std::vector<std::int64_t> after_any, const PastStates& past) {
    wire::JobSpec spec;
    spec.command = "true";
    spec.workdir = "/";
    spec.after = std::move(after), spec.after_any = std::move(after_any);
    const Status status = logic->check(spec, past);
    return status.ok() ? std::string("ok") : status.error().code;
  };
  EXPECT_EQ(check({1, 2, 9}, {12}, {}), "ok") << "a group, a member, one that has not come up";
  EXPECT_EQ(check({12}, {}, {}), "dependency-failed");
  EXPECT_EQ(check({13}, {}, {}), "dependency-not-found");
  EXPECT_EQ(check({}, {13}, {{13, ""}}), "dependency-not-found");
  EXPECT_EQ(check({13}, {}, {{13, "succeeded"}}), "ok");
  EXPECT_EQ(check({13}, {}, {{13, "failed"}}), "dependency-failed");
  EXPECT_EQ(check({}, {13}, {{13, "failed"}}), "ok");
  tell(report(2, 1, "running"));
  logic->on_agent_message(1, wire::AttemptChanged{++reports, report(2, 1, "exited", 3)}, now);
  EXPECT_EQ(check({2}, {}, {}), "dependency-failed") << "its row does not say so yet";
}

}  // namespace
}  // namespace sl::controller::test
