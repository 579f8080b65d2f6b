// What trainings tell.
#include <algorithm>

#include "controller/logic_test.h"

namespace sl::controller {
namespace {

using test::LogicTest;

class TrainingTest : public LogicTest {
 protected:
  // A running job on the two GPUs of server "s".
  void start(const wire::TrainingSpec& training = {}, const std::string& checkpoints = "") {
    hello();
    Logic::Submission submission;
    submission.spec.command = "true";
    submission.spec.workdir = "/";
    submission.spec.gpus = {2, 2};
    submission.spec.training = training;
    if (!checkpoints.empty()) submission.spec.checkpoint.dir = checkpoints;
    logic->submit(std::move(submission), now, [](const Result<JobId>&) {});
    settle();
    wire::AttemptReport running = report(1, 1, "running");
    running.started_us = 1'000 * 1'000'000;
    tell(running);
  }
  void progress(std::int64_t second, wire::Progress told) {
    told.incarnation = report(1, 1, "").incarnation;
    told.at_us = told.epoch_at_us = told.step_at_us = second * 1'000'000;
    logic->on_agent_message(1, told, now);
    settle();
  }
  const JobTelemetry* telemetry() const { return logic->core().job(logic->core().find(JobId(1))).telemetry.get(); }
  const std::string& document() const { return logic->book().find(JobId(1))->row.telemetry_json; }
};

wire::Progress step(double step) {
  wire::Progress told;
  told.step = step;
  return told;
}

wire::Progress epoch(double epoch, double loss) {
  wire::Progress told;
  told.epoch = epoch, told.epoch_loss = loss;
  return told;
}

TEST_F(TrainingTest, its_speed_reaches_the_core_with_where_it_runs_and_its_start_up_is_measured) {
  wire::TrainingSpec training;
  training.batch_size = 64;
  start(training);
  progress(1'010, step(50));
  progress(1'012, step(70));
  progress(1'013, step(80));
  ASSERT_TRUE(telemetry());
  ASSERT_EQ(telemetry()->speeds.size(), 1U);
  const SpeedSample& sample = telemetry()->speeds.front();
  EXPECT_EQ(std::tuple(sample.workers, sample.machines, sample.batch_size, sample.neighbour.valid()),
            std::tuple(2, 1, 64, false));
  EXPECT_NEAR(sample.steps_per_s, 10, 1e-9);
  EXPECT_NE(document().find("\"start_up_s\":5E0"), std::string::npos) << document();
}

TEST_F(TrainingTest, epochs_count_as_steps_where_it_is_known_how_many_make_one_and_as_themselves_elsewhere) {
  wire::TrainingSpec training;
  training.epochs = 10, training.steps = 1'000;
  start(training);
  progress(1'010, epoch(1, 3));
  progress(1'020, epoch(2, 2));
  EXPECT_NEAR(telemetry()->speeds.at(0).steps_per_s, 10, 1e-9);
  EXPECT_EQ(telemetry()->loss_by_epoch, (std::vector<double>{3, 2}));
  EXPECT_NE(document().find("\"unit\":\"step\""), std::string::npos) << document();
  progress(1'021, epoch(2, 2));
  EXPECT_EQ(telemetry()->loss_by_epoch.size(), 2U) << "the same epoch again";
}

TEST_F(TrainingTest, ten_thousand_reports_in_a_second_are_no_events_rows_or_wake_ups) {
  start();
  const std::size_t events = world.events.size();
  for (int i = 1; i <= 10'000; ++i) progress(1'001, step(i));
  EXPECT_EQ(world.events.size(), events);
  EXPECT_FALSE(telemetry());
  EXPECT_NE(logic->book().find(JobId(1))->row.progress_json.find("\"step\":1E4"), std::string::npos);
}

TEST_F(TrainingTest, its_last_progress_is_kept_although_its_end_was_told_first) {
  start();
  wire::Progress last = step(200);
  last.incarnation = report(1, 1, "").incarnation;
  logic->on_agent_message(1, wire::AttemptChanged{++reports, report(1, 1, "exited", 0)}, now);
  logic->turn(now);
  logic->on_agent_message(1, last, now);
  settle();
  restart();
  EXPECT_NE(logic->book().find(JobId(1))->row.progress_json.find("\"step\":2E2"), std::string::npos);
}

TEST_F(TrainingTest, that_its_loss_is_not_finite_is_an_event_once_an_attempt_and_no_loss_of_an_epoch) {
  start();
  progress(1'010, epoch(1, 3));
  wire::Progress diverged = epoch(2, 0);
  diverged.epoch_loss.reset(), diverged.loss_is_not_finite = true;
  progress(1'020, diverged);
  progress(1'030, diverged);
  EXPECT_EQ(telemetry()->loss_by_epoch.size(), 1U);
  const auto told = [&] {
    return std::ranges::count(world.events, std::string("job.loss_not_finite"), &store::EventRow::kind);
  };
  ASSERT_EQ(told(), 1);
  EXPECT_EQ(std::ranges::find(world.events, std::string("job.loss_not_finite"), &store::EventRow::kind)->text,
            "its loss is not a finite number in epoch 2");
  EXPECT_NE(logic->book().find(JobId(1))->row.progress_json.find("\"loss_is_not_finite\":true"), std::string::npos);
}

TEST_F(TrainingTest, it_has_succeeded_once_its_loss_met_the_target_in_three_epochs_in_a_row) {
  wire::TrainingSpec training;
  training.target_loss = 0.5;
  start(training, "/checkpoints");
  progress(1'010, epoch(10, 0.4));  // those before it are not known
  progress(1'020, epoch(11, 0.6));
  progress(1'030, epoch(12, 0.5));
  progress(1'040, epoch(13, 0.4));
  progress(1'041, epoch(13, 0.4));
  EXPECT_EQ(state(1), "running");
  progress(1'050, epoch(14, 0.4));
  EXPECT_EQ(state(1), "stopping");
  restart();
  hello({report(1, 1, "running")});
  EXPECT_EQ(state(1), "stopping");
  wire::AttemptReport end = report(1, 1, "exited", 75);
  end.stopped_by = "order";
  tell(end);
  EXPECT_EQ(state(1), "succeeded");
}

TEST_F(TrainingTest, without_a_checkpoint_it_goes_on_beyond_its_target) {
  wire::TrainingSpec training;
  training.target_loss = 0.5;
  start(training);
  for (int i = 1; i <= 4; ++i) progress(1'000 + 10 * i, epoch(i, 0.4));
  EXPECT_EQ(state(1), "running");
}

TEST_F(TrainingTest, what_it_told_survives_a_restart_of_the_controller) {
  start();
  progress(1'010, epoch(1, 3));
  progress(1'013, epoch(2, 2));
  restart();
  ASSERT_TRUE(telemetry());
  EXPECT_EQ(telemetry()->loss_by_epoch, (std::vector<double>{3, 2}));
  ASSERT_EQ(telemetry()->speeds.size(), 1U);
  EXPECT_EQ(telemetry()->speeds.front().workers, 2);
}

TEST_F(TrainingTest, how_busy_its_gpus_are_is_their_mean_and_the_fullest_memory) {
  start();
  wire::Telemetry told;
  for (int s = 1; s <= 4; ++s) {
    told.at_us = (1'000 + s) * 1'000'000LL;
    told.gpus.resize(2);
    told.gpus[0].utilization_pct = 60, told.gpus[0].memory_used_bytes = 5;
    told.gpus[1].index = 1, told.gpus[1].utilization_pct = 80, told.gpus[1].memory_used_bytes = 9;
    logic->on_agent_message(1, told, now);
    settle();
  }
  ASSERT_TRUE(telemetry());
  EXPECT_EQ(telemetry()->gpu_utilization_pct, 70);
  EXPECT_EQ(telemetry()->gpu_memory_used_bytes, 9);
}

TEST_F(TrainingTest, its_checkpoint_is_kept_when_it_ends) {
  start();
  wire::AttemptReport ended = report(1, 1, "exited", 0);
  ended.checkpoint_bytes = 1'000'000;
  ended.checkpoint_s = 0.5;
  tell(ended);
  EXPECT_EQ(state(1), "succeeded");
  EXPECT_NE(world.jobs.at(1).telemetry_json.find("\"checkpoint_bytes\":1000000"), std::string::npos);
}

// ---- profiles ----

TEST_F(TrainingTest, a_job_takes_from_the_profile_of_its_family_what_it_does_not_say_also_after_a_restart) {
  wire::TrainingProfile profile;
  profile.family = "cnn";
  profile.epochs = 10, profile.steps_per_epoch = 100, profile.model_bytes = 7, profile.restart_s = 3;
  profile.speeds = {{1, 1, "", 0, 10, {}, {}}, {2, 1, "", 0, 15, {}, {}}};
  std::string said;
  logic->put_profile(profile, "mei", now, [&](const Status& s) { said = s.ok() ? "ok" : s.error().code; });
  EXPECT_EQ(said, "") << "not durable yet";
  settle();
  EXPECT_EQ(said, "ok");
  restart();
  wire::TrainingSpec training;
  training.family = "cnn";
  training.epochs = 30;
  start(training);
  const JobRequest& request = logic->core().job(logic->core().find(JobId(1))).request;
  ASSERT_TRUE(request.model);
  EXPECT_EQ(request.model->epochs_total, 30) << "the job's own statement counts";
  EXPECT_EQ(request.model->parameter_bytes, 7);
  EXPECT_EQ(request.model->restart_cost, Duration::whole_seconds(3));
  EXPECT_DOUBLE_EQ(request.model->speed_curve.speed_on(2), 1.5);
  EXPECT_EQ(request.estimate, Duration::whole_seconds(200)) << "30 epochs of 100 steps at 15 per second";
  logic->remove_profile("cnn", "mei", now, [&](const Status& s) { said = s.ok() ? "gone" : s.error().code; });
  settle();
  EXPECT_EQ(said, "gone");
  logic->remove_profile("cnn", "mei", now, [&](const Status& s) { said = s.error().code; });
  EXPECT_EQ(said, "profile-not-found");
}

}  // namespace
}  // namespace sl::controller
