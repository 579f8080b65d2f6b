// Jobs whose priority, GPUs or time limit users change after submission.
#include <algorithm>

#include "controller/logic_test.h"

namespace sl::controller::test {
namespace {

class EditingTest : public LogicTest {
 protected:
  // Job 1 runs on both GPUs, job 2 waits for one.
  void SetUp() override {
    hello();
    submit(2);
    settle();
    tell(report(1, 1, "running"));
    submit(1);
    settle();
  }
  // The error's code; "ok" once it is done and durable.
  std::string edit(std::int64_t job, const std::string& change) {
    std::string said = "no answer";
    const auto parsed = wire::parse_job_change(change);
    if (!parsed.ok()) return parsed.error().code;
    logic->edit(JobId(job), *parsed, "mei", now,
                [&](const Result<JobId>& done) { said = done.ok() ? "ok" : done.error().code; });
    EXPECT_TRUE(said == "no answer" || said != "ok") << "nothing is promised before it is durable";
    settle();
    return said;
  }
  const JobRequest& request(std::int64_t job) const {
    return logic->core().job(logic->core().find(JobId(job))).request;
  }
};

TEST_F(EditingTest, what_was_changed_holds_here_in_the_database_and_after_a_restart) {
  EXPECT_EQ(edit(2, R"({"priority": 7, "gpus": "1..2", "time_limit_s": "15m"})"), "ok");
  for (const char* when : {"now", "after a restart"}) {
    EXPECT_EQ(request(2).priority, 7) << when;
    EXPECT_EQ(request(2).gpus_min, 1) << when;
    EXPECT_EQ(request(2).gpus_max, 2) << when;
    EXPECT_EQ(request(2).gpus, 2) << when;
    EXPECT_EQ(request(2).time_limit, Duration::whole_seconds(900)) << when;
    restart();
  }
}

TEST_F(EditingTest, a_waiting_job_may_be_on_more_servers_from_now_on) {
  EXPECT_EQ(edit(2, R"({"servers": 2})"), "bad-servers") << "it has one GPU";
  EXPECT_EQ(edit(2, R"({"gpus": 2, "servers": 2})"), "ok");
  EXPECT_EQ(edit(1, R"({"servers": 2})"), "job-started");
  for (const char* when : {"now", "after a restart"}) {
    EXPECT_EQ(request(2).servers_max, 2) << when;
    EXPECT_EQ(request(1).servers_max, 1) << when;
    restart();
  }
}

TEST_F(EditingTest, with_other_gpus_the_users_estimate_is_that_on_these) {
  Logic::Submission submission;
  submission.spec.command = "true", submission.spec.workdir = "/";
  submission.spec.gpus = {2, 2}, submission.spec.estimate_s = 600;
  logic->submit(std::move(submission), now, [](const Result<JobId>&) {});
  settle();
  const std::int64_t job = world.jobs.rbegin()->first;
  EXPECT_EQ(edit(job, R"({"gpus": 1})"), "ok");
  for (const char* when : {"now", "after a restart"}) {
    EXPECT_EQ(request(job).estimate, Duration::whole_seconds(1'200)) << when;
    restart();
  }
  const auto edited = std::ranges::find(world.events, "job.edited", &store::EventRow::kind);
  ASSERT_NE(edited, world.events.end());
  EXPECT_EQ(edited->text, "gpus 2 → 1, estimate 600 s → 1200 s");
}

TEST_F(EditingTest, its_history_says_who_changed_what_once) {
  EXPECT_EQ(edit(2, R"({"priority": 7, "gpus": 2})"), "ok");
  EXPECT_EQ(edit(2, R"({"priority": 7})"), "ok");  // changes nothing
  std::vector<std::string> edits;
  for (const store::EventRow& event : world.events) {
    if (event.kind == "job.edited") edits.push_back(event.actor_name + ": " + event.text);
  }
  EXPECT_EQ(edits, (std::vector<std::string>{"mei: priority 0 → 7, gpus 1 → 2"}));
}

TEST_F(EditingTest, who_is_told_of_it_is_added_replaced_and_removed_by_receiver) {
  const auto told = [&] {
    std::string text;
    for (const wire::NotifySpec& each : spec_of(*logic->book().find(JobId(2))).notify)
      text += each.to + ":" + std::to_string(each.on.size()) + " ";
    return text;
  };
  EXPECT_EQ(edit(2, R"({"notify": [{"to": "team"}, {"to": "me", "on": ["failed", "started"]}]})"), "ok");
  EXPECT_EQ(told(), "team:1 me:2 ");
  EXPECT_EQ(edit(2, R"({"notify": [{"to": "team", "on": ["started", "failed", "resized"]}]})"), "ok");
  EXPECT_EQ(told(), "me:2 team:3 ");
  EXPECT_EQ(edit(2, R"({"notify": [{"to": "team", "on": []}]})"), "ok");
  EXPECT_EQ(told(), "me:2 ");
  EXPECT_EQ(edit(2, R"({"notify": [{"to": "me", "on": ["faild"]}]})"), "bad-notify");
  EXPECT_EQ(edit(1, R"({"notify": [{"to": "team"}]})"), "ok") << "one that runs too";
}

TEST_F(EditingTest, a_waiting_job_starts_on_the_gpus_that_it_has_been_given) {
  EXPECT_EQ(edit(2, R"({"gpus": 2})"), "ok");
  tell(report(1, 1, "exited", 0));
  EXPECT_EQ(world.all<wire::StartAttempt>().back().placement.gpus.size(), 2u);
  EXPECT_EQ(world.all<wire::StartAttempt>().back().spec.gpus.max, 2);
}

TEST_F(EditingTest, a_new_time_limit_ends_a_job_that_runs) {
  EXPECT_EQ(edit(1, R"({"time_limit_s": 10})"), "ok");
  pass(11);
  EXPECT_EQ(state(1), "stopping");
  EXPECT_EQ(world.jobs[1].extra_json, "time_limit");
}

TEST_F(EditingTest, the_gpus_of_a_job_that_runs_stay_as_they_are) {
  EXPECT_EQ(edit(1, R"({"gpus": 1, "priority": 3})"), "job-started");
  EXPECT_EQ(request(1).priority, 0) << "all or nothing";
  EXPECT_EQ(edit(1, R"({"gpus": 2, "priority": 3})"), "ok") << "they are what they were";
  EXPECT_EQ(request(1).priority, 3);
}

TEST_F(EditingTest, a_renamed_job_still_trains_like_those_of_its_old_name) {
  EXPECT_EQ(edit(2, R"({"name": "third try"})"), "ok");
  EXPECT_EQ(world.jobs[2].name, "third try");
  restart();
  EXPECT_EQ(world.jobs[2].name, "third try");
  EXPECT_EQ(logic->core().families().text(request(2).family), world.jobs[1].name);
}

TEST_F(EditingTest, labels_are_added_and_removed_one_by_one) {
  EXPECT_EQ(edit(2, R"({"labels": {"project": "vision", "lr": "0.1"}})"), "ok");
  EXPECT_EQ(edit(2, R"({"labels": {"lr": null, "seed": "1"}})"), "ok");
  const auto labels = wire::read_json<wire::JobSpec>(world.jobs[2].spec_json, wire::Unknown::ignore)->labels;
  EXPECT_EQ(labels, (std::map<std::string, std::string>{{"project", "vision"}, {"seed", "1"}}));
}

TEST_F(EditingTest, the_first_in_line_has_a_priority_above_all_others_that_wait) {
  submit(1);
  submit(1);
  settle();
  EXPECT_EQ(edit(3, R"({"priority": 5})"), "ok");
  EXPECT_EQ(edit(4, R"({"first": true})"), "ok");
  EXPECT_EQ(request(4).priority, 6);
  EXPECT_EQ(edit(4, R"({"first": true})"), "ok");
  EXPECT_EQ(request(4).priority, 6) << "it is first already";
  EXPECT_EQ(edit(3, R"({"priority": 2147483647})"), "ok");
  EXPECT_EQ(edit(4, R"({"first": true})"), "highest-priority-taken");
  EXPECT_EQ(request(4).priority, 6);
  EXPECT_EQ(edit(4, R"({"first": true, "priority": 1})"), "bad-priority");
  EXPECT_EQ(edit(3, R"({"priority": 5})"), "ok");
  tell(report(1, 1, "exited", 0));
  EXPECT_EQ(state(4), "starting");
}

TEST_F(EditingTest, a_job_is_served_right_before_another_one_and_those_in_front_stay_there) {
  submit(1);
  submit(1);
  submit(1);
  settle();  // 2, 3, 4, 5 wait
  EXPECT_EQ(edit(5, R"({"before": 3})"), "ok");
  std::vector<std::int64_t> line;
  for (const JobIndex job : logic->core().queue_order(now)) line.push_back(logic->core().job(job).request.id.value);
  EXPECT_EQ(line, (std::vector<std::int64_t>{2, 5, 3, 4}));
  std::vector<std::string> edits;
  for (const store::EventRow& event : world.events) {
    if (event.kind == "job.edited") edits.push_back(std::to_string(event.job_id.value_or(0)) + " " + event.text);
  }
  EXPECT_EQ(edits, (std::vector<std::string>{"2 priority 0 → 1", "5 priority 0 → 1"}));
  restart();
  EXPECT_EQ(request(2).priority, 1) << "all of it is in the database";
  EXPECT_EQ(request(5).priority, 1);
}

TEST_F(EditingTest, a_place_that_cannot_be_had_changes_no_job) {
  submit(1);
  settle();
  EXPECT_EQ(edit(3, R"({"before": 1})"), "job-not-in-line") << "it runs";
  EXPECT_EQ(edit(1, R"({"before": 3})"), "job-not-in-line");
  EXPECT_EQ(edit(3, R"({"before": 3})"), "bad-priority");
  EXPECT_EQ(edit(3, R"({"before": 2, "first": true})"), "bad-priority");
  EXPECT_EQ(edit(3, R"({"before": 2, "gpus": 9})"), "gpus-unsatisfiable");
  EXPECT_EQ(request(3).priority, 0);
  EXPECT_EQ(request(2).priority, 0);
}

TEST_F(EditingTest, a_plan_changes_nothing) {
  submit(1);
  settle();
  const auto plan = logic->plan_edit(JobId(3), *wire::parse_job_change(R"({"before": 2})"), now);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->what, "priority 0 → 1");
  EXPECT_TRUE(plan->others.empty());
  EXPECT_EQ(request(3).priority, 0);
}

TEST_F(EditingTest, a_waiting_job_is_held_and_released) {
  EXPECT_EQ(edit(2, R"({"hold": true, "priority": 2})"), "ok");
  EXPECT_EQ(state(2), "held");
  EXPECT_EQ(edit(2, R"({"hold": true})"), "job-held");
  restart();
  hello();
  tell(report(1, 1, "exited", 0));
  EXPECT_EQ(state(2), "held");
  EXPECT_EQ(edit(2, R"({"hold": false})"), "ok");
  EXPECT_EQ(state(2), "starting");
  EXPECT_EQ(edit(2, R"({"hold": false})"), "job-not-held");
  EXPECT_EQ(edit(2, R"({"hold": true, "priority": 9})"), "job-started");
  EXPECT_EQ(request(2).priority, 2) << "all or nothing";
}

TEST_F(EditingTest, what_cannot_be_is_refused_and_changes_nothing) {
  EXPECT_EQ(edit(2, R"({"gpus": 3})"), "gpus-unsatisfiable");
  EXPECT_EQ(edit(2, R"({"gpus": 0})"), "bad-gpus");
  EXPECT_EQ(edit(2, R"({"gpus": [1, 2]})"), "bad-gpus");
  EXPECT_EQ(edit(2, R"({"name": ""})"), "bad-name");
  EXPECT_EQ(edit(2, R"({"labels": {"": "a"}})"), "bad-label");
  EXPECT_EQ(edit(2, R"({"time_limit_s": -1})"), "bad-time");
  EXPECT_EQ(edit(2, R"({"prioritty": 1})"), "unknown-key");
  EXPECT_EQ(edit(2, R"({"command": "false"})"), "unknown-key");
  EXPECT_EQ(edit(2, "{}"), "nothing-to-change");
  EXPECT_EQ(edit(9, R"({"priority": 1})"), "job-not-found");
  tell(report(1, 1, "exited", 0));
  EXPECT_EQ(edit(1, R"({"priority": 1})"), "job-finished");
  EXPECT_EQ(request(2).gpus_max, 1);
  EXPECT_EQ(request(2).priority, 0);
  EXPECT_TRUE(std::ranges::none_of(world.events, [](const auto& event) { return event.kind == "job.edited"; }));
}

}  // namespace
}  // namespace sl::controller::test
