#include "controller/interruption_costs.h"

#include "controller/logic_test.h"
#include "wire/json.h"

namespace sl::controller::test {
namespace {

// A training of ten steps a second, of the family "cnn", on both GPUs.
class InterruptionCostsTest : public LogicTest {
 protected:
  void SetUp() override {
    hello();
    submit_training();
    runs(1);
    reports(1, 3, 50);
    reports(1, 5, 70);
  }
  void submit_training(bool freeze = false) {
    Logic::Submission submission;
    submission.spec.command = "true", submission.spec.workdir = "/", submission.spec.gpus = {2, 2};
    submission.spec.checkpoint.dir = "/c";
    submission.spec.freeze = freeze;
    submission.spec.training.family = "cnn";
    logic->submit(std::move(submission), now, [](const Result<JobId>&) {});
    settle();
  }
  void runs(int attempt) {
    wire::AttemptReport running = report(1, attempt, "running");
    running.started_us = 1'000'000'000;
    tell(running);
  }
  // So many seconds after its start.
  void reports(int attempt, std::int64_t second, double step) {
    wire::Progress told;
    told.step = step;
    told.incarnation = report(1, attempt, "").incarnation;
    told.at_us = told.step_at_us = (1'000 + second) * 1'000'000;
    logic->on_agent_message(1, told, now);
    settle();
  }
  void ask(const char* verb) {
    logic->intervene(JobId(1), {verb, {}, {}}, "mei", now, [](const Result<JobId>&) {});
    settle();
  }
  void ends(int attempt) {
    wire::AttemptReport end = report(1, attempt, "exited", 75);
    end.started_us = 1, end.stopped_by = "order";
    tell(end);
  }
  wire::FamilyCosts kept() const {
    const auto row = world.settings.find("costs/cnn");
    return row == world.settings.end() ? wire::FamilyCosts{}
                                       : *wire::read_json<wire::FamilyCosts>(row->second, wire::Unknown::reject);
  }
  void stop_and_go_on() {
    ask("suspend");
    pass(3);
    ends(1);
    pass(5);  // it is held: no cost
    ask("resume");
    runs(2);
  }
};

TEST_F(InterruptionCostsTest, stopping_starting_and_work_done_again_are_kept_for_the_family) {
  stop_and_go_on();
  EXPECT_EQ(kept().stops, 1);
  EXPECT_NEAR(kept().stop_s, 3, 0.1);
  EXPECT_EQ(kept().starts, 0) << "it has made no step yet";
  reports(2, 2, 66);
  reports(2, 4, 86);
  EXPECT_EQ(kept().starts, 1);
  EXPECT_NEAR(kept().start_s, 2, 1e-6);
  EXPECT_NEAR(kept().repeated_s, 0.4, 1e-6);
  reports(2, 5, 96);
  EXPECT_EQ(kept().starts, 1) << "once";
}

TEST_F(InterruptionCostsTest, the_job_s_history_and_its_telemetry_say_what_it_cost) {
  stop_and_go_on();
  reports(2, 2, 66);
  reports(2, 4, 86);
  std::vector<std::string> told;
  for (const store::EventRow& event : world.events) {
    if (event.kind == "job.continued") told.push_back(event.text);
  }
  ASSERT_EQ(told.size(), 1u);
  EXPECT_NE(told[0].find("2.0 s to the first step, 4 steps again"), std::string::npos) << told[0];
  EXPECT_NE(world.jobs[1].telemetry_json.find("\"repeated_count\":4"), std::string::npos)
      << world.jobs[1].telemetry_json;
}

TEST_F(InterruptionCostsTest, a_crash_after_a_stop_is_no_second_stop) {
  stop_and_go_on();
  reports(2, 2, 66);
  reports(2, 4, 86);
  const wire::FamilyCosts before = kept();
  wire::AttemptReport lost = report(1, 2, "exited");
  lost.failure_kind = "lost";
  tell(lost);
  pass(20);
  for (int i = 0; i < 8 && state(1) != "starting"; ++i) keep_session(), pass(20);
  ASSERT_EQ(state(1), "starting");
  runs(3);
  reports(3, 2, 40);
  reports(3, 4, 60);
  EXPECT_EQ(kept(), before);
  std::vector<std::string> told;
  for (const store::EventRow& event : world.events) {
    if (event.kind == "job.continued") told.push_back(event.text);
  }
  ASSERT_EQ(told.size(), 2u);
  EXPECT_NE(told[0].find("to stop"), std::string::npos) << told[0];
  EXPECT_EQ(told[1].find("to stop"), std::string::npos) << told[1];
}

TEST_F(InterruptionCostsTest, later_jobs_of_the_family_are_known_to_cost_as_much_also_after_a_restart) {
  stop_and_go_on();
  reports(2, 2, 66);
  reports(2, 4, 86);
  for (const bool restarted : {false, true}) {
    if (restarted) restart();
    submit_training();
    const JobId last(restarted ? 3 : 2);
    const auto& model = logic->core().job(logic->core().find(last)).request.model;
    ASSERT_TRUE(model && model->restart_cost) << restarted;
    EXPECT_NEAR(model->restart_cost->to_seconds(), kept().restart_s(), 1e-6);
  }
}

TEST_F(InterruptionCostsTest, what_a_lost_server_cost_is_not_what_a_stop_costs) {
  wire::AttemptReport lost = report(1, 1, "exited");
  lost.failure_kind = "lost";
  tell(lost);
  runs(2);
  reports(2, 2, 20);
  reports(2, 4, 40);
  EXPECT_EQ(kept(), wire::FamilyCosts{});
}

}  // namespace
}  // namespace sl::controller::test
