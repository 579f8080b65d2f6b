#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>

#include "agent/agent_logic_test.h"
#include "agent/environment.h"
#include "agent/files.h"
#include "agent/launcher_wire.h"
#include "agent/metrics.h"

namespace sl::agent {
namespace {

// Its lease is not the launcher's yet, so nothing would end what must end with it.
TEST_F(AgentLogicTest, obeys_no_order_of_a_session_that_has_not_welcomed_it) {
  logic.on_session_closed();
  logic.on_session_opened({}, now);
  seq = 0;
  order_start();
  EXPECT_TRUE(ports.launched.empty());
  EXPECT_EQ(ports.disconnects, 1);
}

TEST_F(AgentLogicTest, starts_an_attempt_once_however_often_it_is_told) {
  order_start();
  logic.on_launcher_state({.key = "5.1", .state = "running", .pid = 77, .started_us = 1});
  EXPECT_EQ(ports.last_report().state, "running");
  order_start();
  EXPECT_EQ(ports.launched, std::vector<std::string>{"5.1"});
  EXPECT_EQ(ports.last_report().pid, 77);  // it reports its state again
}

wire::StartAttempt in_container() {
  wire::StartAttempt order;
  order.incarnation = {"", 5, 1, 0};
  order.placement.gpus = {0};
  order.spec.image = "a/b";
  return order;
}

TEST_F(AgentLogicTest, an_attempt_in_a_container_starts_once_its_image_is_there) {
  give(in_container());
  EXPECT_EQ(ports.images, std::vector<std::string>{"5.1"});
  EXPECT_TRUE(ports.launched.empty());
  give(in_container());  // repeated
  EXPECT_EQ(ports.images.size(), 1U);
  logic.on_image("5.1", std::string("a/b@sha256:1"), now);
  EXPECT_EQ(ports.launched, std::vector<std::string>{"5.1"});
  logic.on_launcher_state({.key = "5.1", .state = "running", .pid = 7});
  EXPECT_EQ(ports.last_report().image, "a/b@sha256:1");
}

TEST_F(AgentLogicTest, an_image_that_cannot_be_had_is_the_end_of_the_attempt_and_frees_its_gpus) {
  give(in_container());
  logic.on_image("5.1", not_found("image", "no such image"), now);
  EXPECT_EQ(ports.last_report().state, "exited");
  EXPECT_EQ(ports.last_report().failure_kind, "image");
  order_start(2);
  EXPECT_EQ(ports.launched, std::vector<std::string>{"5.2"});
}

TEST_F(AgentLogicTest, an_attempt_whose_container_is_being_made_is_starting_and_goes_on_being_stopped) {
  give(in_container());
  logic.on_image("5.1", std::string("a/b@sha256:1"), now);
  logic.on_launcher_state({.key = "5.1", .state = "starting", .pid = 7});
  EXPECT_EQ(ports.last_report().state, "starting");
  EXPECT_EQ(ports.last_report().started_us, std::nullopt);
  wire::StopAttempt stop;
  stop.incarnation = {"", 5, 1, 0}, stop.signal = "TERM";
  give(stop);
  logic.on_launcher_state({.key = "5.1", .state = "starting", .pid = 7});
  EXPECT_EQ(ports.last_report().state, "stopping");
  logic.on_launcher_state({.key = "5.1", .state = "exited", .pid = 7, .signal = 15});
  EXPECT_EQ(ports.last_report().started_us, std::nullopt) << "so nobody looks for its checkpoint here";
}

TEST_F(AgentLogicTest, an_image_that_is_not_wanted_any_more_is_not_waited_for) {
  give(in_container());
  wire::StopAttempt stop;
  stop.incarnation = {"", 5, 1, 0}, stop.reason = "cancelled";
  give(stop);
  EXPECT_EQ(ports.images, (std::vector<std::string>{"5.1", "end 5.1"}));
  EXPECT_EQ(ports.last_report().failure_kind, "lost");
  logic.on_image("5.1", std::string("a/b@sha256:1"), now);  // it came all the same
  EXPECT_TRUE(ports.launched.empty());
}

TEST_F(AgentLogicTest, nothing_starts_by_an_image_that_comes_after_the_lease) {
  give(in_container());
  now = now + Duration::whole_seconds(31);
  logic.on_image("5.1", std::string("a/b@sha256:1"), now);
  EXPECT_TRUE(ports.launched.empty());
  EXPECT_EQ(ports.disconnects, 1);
}

TEST_F(AgentLogicTest, tells_at_once_that_the_server_cannot_start_an_attempt) {
  ports.cannot_launch = unavailable("server_setup", "no space left");
  order_start();
  EXPECT_EQ(ports.last_report().state, "exited");
  EXPECT_EQ(ports.last_report().failure_kind, "server_setup");
  EXPECT_EQ(ports.last_report().failure_message, "no space left");
  ports.cannot_launch = {};
  order_start(2);  // its GPUs are free
  EXPECT_EQ(ports.launched.back(), "5.2");
}

TEST_F(AgentLogicTest, stops_with_the_signal_then_kills_after_the_grace) {
  order_start();
  logic.on_launcher_state({.key = "5.1", .state = "running", .pid = 77, .started_us = 1});
  wire::StopAttempt stop;
  stop.incarnation = {"", 5, 1, 0}, stop.signal = "USR1", stop.grace_s = 10;
  give(stop);
  give(stop);  // a repeated stop has no effect
  logic.tick(now + Duration::whole_seconds(9));
  EXPECT_EQ(ports.signals, (std::vector<std::pair<std::string, int>>{{"5.1", SIGUSR1}}));
  logic.tick(now + Duration::whole_seconds(10));
  EXPECT_EQ(ports.signals.back(), (std::pair<std::string, int>{"5.1", SIGKILL}));
}

TEST_F(AgentLogicTest, an_order_that_gives_less_time_counts_whatever_another_order_gave) {
  order_start();
  logic.on_launcher_state({"5.1", "running", 100, 1});
  give(wire::StopAttempt{0, {"", 5, 1, 0}, "cancelled", "TERM", 30});
  give(wire::StopAttempt{0, {"", 5, 1, 0}, "cancelled", "INT", 40});
  EXPECT_EQ(ports.signals.size(), 1u) << "it is being ended";
  give(wire::StopAttempt{0, {"", 5, 1, 0}, "cancelled", "INT", 20});
  ASSERT_EQ(ports.signals.size(), 2u);
  logic.tick(now + Duration::whole_seconds(19));
  EXPECT_EQ(ports.signals.back(), std::pair(std::string("5.1"), SIGINT));
  give(wire::StopAttempt{0, {"", 5, 1, 0}, "cancelled", "KILL", 0});
  ASSERT_EQ(ports.signals.size(), 3u);
  EXPECT_EQ(ports.signals.back(), std::pair(std::string("5.1"), SIGKILL));
}

TEST_F(AgentLogicTest, a_signal_of_its_user_is_passed_on_to_what_runs_and_asks_nothing_to_end) {
  const auto signal = [this](std::int64_t job) {
    wire::SignalAttempt order;
    order.incarnation.job = job, order.incarnation.attempt = 1, order.signal = "USR1";
    give(order);
  };
  order_start();
  signal(5);
  EXPECT_TRUE(ports.passed_on.empty()) << "it does not run yet";
  logic.on_launcher_state({"5.1", "running", 100, 1});
  signal(5);
  signal(6);
  EXPECT_EQ(ports.passed_on, (std::vector<std::pair<std::string, int>>{{"5.1", SIGUSR1}}));
  now = now + Duration::whole_seconds(20);
  logic.tick(now);
  EXPECT_TRUE(ports.signals.empty());
  EXPECT_EQ(logic.attempts().at("5.1").report.state, "running");
}

TEST_F(AgentLogicTest, what_is_frozen_gives_up_its_gpus_and_gets_them_back_when_they_are_free) {
  order_start();
  logic.on_launcher_state({.key = "5.1", .state = "running", .pid = 77, .started_us = 1, .gpus = "0"});
  wire::StartAttempt next;
  next.incarnation = {"", 6, 1, 0}, next.placement.gpus = {0};
  give(next);
  EXPECT_EQ(ports.launched, std::vector<std::string>{"5.1"});  // its GPU is not free yet
  give(wire::FreezeAttempt{0, {"", 5, 1, 0}});
  EXPECT_EQ(ports.freezes, std::vector<std::string>{"freeze 5.1"});
  logic.on_launcher_state({.key = "5.1", .state = "running", .started_us = 1, .gpus = "0", .frozen = true});
  EXPECT_EQ(ports.launched.back(), "6.1");
  logic.on_launcher_state({.key = "6.1", .state = "running", .started_us = 1, .gpus = "0"});
  give(wire::ThawAttempt{0, {"", 5, 1, 0}, {}});
  EXPECT_EQ(ports.freezes.size(), 1u) << "another runs there";
  logic.on_launcher_state({.key = "6.1", .state = "exited", .started_us = 1, .gpus = "0"});
  EXPECT_EQ(ports.freezes.back(), "thaw 5.1");
}

TEST_F(AgentLogicTest, what_is_being_stopped_or_is_unknown_is_not_frozen) {
  order_start();
  logic.on_launcher_state({.key = "5.1", .state = "running", .pid = 77, .started_us = 1});
  wire::StopAttempt stop;
  stop.incarnation = {"", 5, 1, 0};
  give(stop);
  give(wire::FreezeAttempt{0, {"", 5, 1, 0}});
  EXPECT_EQ(ports.last_report().state, "stopping");
  give(wire::FreezeAttempt{0, {"", 9, 1, 0}});
  EXPECT_EQ(ports.last_report().failure_kind, "lost");
  EXPECT_TRUE(ports.freezes.empty());
}

TEST_F(AgentLogicTest, tells_everything_it_holds_when_a_session_opens) {
  order_start();
  logic.on_launcher_state({.key = "5.1", .state = "exited", .pid = 77, .started_us = 1, .ended_us = 2, .exit_code = 3});
  logic.on_session_opened({}, now);
  const auto& hello = std::get<wire::Hello>(ports.sent.back());
  ASSERT_EQ(hello.attempts.size(), 1u);
  EXPECT_EQ(hello.attempts[0].exit_code, 3);
}

TEST_F(AgentLogicTest, keeps_an_end_until_the_controller_says_it_may_be_forgotten) {
  order_start();
  wire::ForgetAttempt forget;
  forget.incarnation = {"", 5, 1, 0};
  give(forget);
  EXPECT_TRUE(ports.forgotten.empty());  // it still runs
  logic.on_launcher_state({.key = "5.1", .state = "exited", .ended_us = 2, .exit_code = 0});
  give(forget);
  EXPECT_EQ(ports.forgotten, std::vector<std::string>{"5.1"});
  EXPECT_TRUE(logic.attempts().empty());
}

TEST_F(AgentLogicTest, holds_a_job_until_its_end_is_confirmed) {
  logic.on_launcher_state({.key = "5.1.700.c", .state = "exited"});
  logic.on_launcher_state({.key = "50.1.900.c", .state = "running"});
  EXPECT_TRUE(logic.holds({"c", 5}));
  EXPECT_TRUE(logic.holds({"", 5})) << "folders of an older version may be its";
  EXPECT_FALSE(logic.holds({"d", 5}));
  give(wire::ForgetAttempt{0, {"c", 5, 1, 700}});
  EXPECT_FALSE(logic.holds({"c", 5}));
}

TEST_F(AgentLogicTest, tells_the_next_controller_how_far_the_numbers_of_jobs_had_got) {
  logic.on_message(wire::Welcome{"", 1, 30, "c", 4}, now);
  logic.on_message(wire::Ping{now.us, 0, 9}, now);
  EXPECT_EQ(ports.cluster, (KnownCluster{"c", 9}));
  AgentLogic next(ports);
  next.restore_cluster(ports.cluster);
  next.on_launcher_listed();
  next.on_launcher_state({.key = "12.1.700.c", .state = "running", .pid = 77});
  next.on_launcher_state({.key = "50.1.700.other", .state = "running", .pid = 78});
  next.on_session_opened({}, now);
  const auto& hello = std::get<wire::Hello>(ports.sent.back());
  EXPECT_EQ(hello.cluster, "c");
  EXPECT_EQ(hello.last_job, 12) << "it runs one, of which no ping had told yet";
  ASSERT_EQ(hello.attempts.size(), 2u);
  EXPECT_EQ(hello.attempts[0].incarnation, (Incarnation{"c", 12, 1, 700}));
}

TEST_F(AgentLogicTest, tells_of_jobs_that_came_and_went_between_two_pings) {
  logic.on_message(wire::Welcome{"", 1, 30, "c", 4}, now);
  logic.on_launcher_state({.key = "6.1.700.c", .state = "exited"});
  logic.on_launcher_state({.key = "7.1.701.other", .state = "exited"});
  give(wire::ForgetAttempt{0, {"c", 6, 1, 700}});
  give(wire::ForgetAttempt{0, {"other", 7, 1, 701}});
  logic.on_session_opened({}, now);
  EXPECT_EQ(std::get<wire::Hello>(ports.sent.back()).last_job, 6);
  logic.on_message(wire::Welcome{"", 2, 30, "c", 4}, now);  // of a database that knows job 4
  logic.on_session_opened({}, now);
  EXPECT_EQ(std::get<wire::Hello>(ports.sent.back()).last_job, 4);
}

TEST_F(AgentLogicTest, says_of_an_attempt_it_never_had_that_it_is_lost) {
  wire::StopAttempt stop;
  stop.incarnation = {"", 9, 4, 0};
  give(stop);
  EXPECT_EQ(ports.last_report().failure_kind, "lost");
}

TEST_F(AgentLogicTest, an_order_that_came_twice_is_ignored_and_a_missing_one_ends_the_session) {
  order_start();
  wire::StartAttempt again;
  again.seq = 1, again.incarnation = {"", 5, 1, 0};
  logic.on_message(again, now);
  EXPECT_EQ(ports.launched.size(), 1u);
  again.seq = 3;
  logic.on_message(again, now);
  EXPECT_EQ(ports.disconnects, 1);
}

TEST_F(AgentLogicTest, a_ping_tells_that_an_order_was_lost) {
  logic.on_message(wire::Ping{now.us, 1}, now);
  EXPECT_EQ(ports.disconnects, 1);
}

TEST_F(AgentLogicTest, the_lease_runs_from_when_the_answered_ping_left) {
  const Instant sent = now;
  now = now + Duration::whole_seconds(8);
  logic.on_message(wire::Ping{sent.us, 0}, now);
  EXPECT_EQ(ports.lease_until, sent + Duration::whole_seconds(30));
}

TEST_F(AgentLogicTest, without_a_lease_it_obeys_nothing_and_gives_up_the_session) {
  now = now + Duration::whole_seconds(30);
  order_start();
  EXPECT_TRUE(ports.launched.empty());
  EXPECT_EQ(ports.disconnects, 1);
}

TEST_F(AgentLogicTest, an_attempt_waits_for_the_gpus_of_one_that_is_on_its_way_out) {
  order_start(1, {0, 1});
  logic.on_launcher_state({.key = "5.1", .state = "running", .pid = 77, .started_us = 1, .gpus = "0,1"});
  order_start(2, {1});
  EXPECT_EQ(ports.launched, std::vector<std::string>{"5.1"});
  logic.on_launcher_state({.key = "5.1", .state = "exited", .pid = 77, .gpus = "0,1"});
  EXPECT_EQ(ports.launched, (std::vector<std::string>{"5.1", "5.2"}));
}

TEST_F(AgentLogicTest, an_attempt_that_waits_is_forgotten_with_its_session) {
  order_start(1);
  logic.on_launcher_state({.key = "5.1", .state = "running", .pid = 77, .started_us = 1, .gpus = "0"});
  order_start(2);
  logic.on_session_closed();
  logic.on_launcher_state(
      {.key = "5.1", .state = "exited", .pid = 77, .started_us = 1, .ended_us = 2, .exit_code = 0, .gpus = "0"});
  EXPECT_EQ(ports.launched, std::vector<std::string>{"5.1"}) << "the controller may have given its GPUs to another";
  EXPECT_EQ(logic.attempts().size(), 1u);
}

TEST_F(AgentLogicTest, an_attempt_does_not_wait_for_jobs_that_share_its_gpus) {
  order_start(1, {0});
  logic.on_launcher_state({.key = "5.1", .state = "running", .pid = 77, .started_us = 1, .gpus = "0"});
  wire::StartAttempt order;
  order.incarnation = {"", 6, 1, 0};
  order.placement.gpus = {0};
  order.neighbours = {{"", 5, 1, 0}};
  give(order);
  EXPECT_EQ(ports.launched, (std::vector<std::string>{"5.1", "6.1"}));
}

TEST_F(AgentLogicTest, the_checkpoint_of_an_attempt_is_reported_with_its_end) {
  order_start(1, {0});
  logic.on_launcher_state({.key = "5.1", .state = "running", .pid = 77, .started_us = 1, .gpus = "0"});
  logic.on_checkpoint("5.1", 1000, 0.5);
  logic.on_checkpoint("9.9", 1, {});
  logic.on_launcher_state({.key = "5.1", .state = "exited", .pid = 77, .exit_code = 75, .gpus = "0"});
  const wire::AttemptReport& ended = logic.attempts().at("5.1").report;
  EXPECT_EQ(ended.checkpoint_bytes, 1000);
  EXPECT_EQ(ended.checkpoint_s, 0.5);
}

// ---- metrics ----

constexpr std::int64_t second_us = 1'000'000;

TEST(Metrics, steps_and_epochs_are_counted_apart_and_the_loss_of_a_step_is_no_loss_of_an_epoch) {
  MetricsReader metrics;
  EXPECT_TRUE(metrics.add(R"({"step": 30, "steps": 90, "loss": 0.9, "epoch": 1})", 5 * second_us));
  EXPECT_FALSE(metrics.take(5 * second_us, false)->epoch_loss);
  EXPECT_TRUE(metrics.add(R"({"epoch": 1, "epochs": 3, "loss": 0.5, "accuracy": 0.8, "time": 6.5})", 7 * second_us));
  EXPECT_TRUE(metrics.add(R"({"epoch": 1.5, "loss": 0.4})", 8 * second_us));
  const auto told = metrics.take(8 * second_us, false);
  ASSERT_TRUE(told);
  EXPECT_EQ(std::tuple(told->step, told->steps, told->epoch, told->epochs), std::tuple(30, 90, 1.5, 3));
  EXPECT_EQ(std::tuple(told->epoch_loss, told->loss, told->accuracy), std::tuple(0.5, 0.4, 0.8));
  EXPECT_EQ(std::tuple(told->step_at_us, told->epoch_at_us), std::tuple(5 * second_us, 8 * second_us));
}

TEST(Metrics, a_line_says_when_it_was_written_unless_that_cannot_be) {
  for (const auto& [time, expected] : {std::pair{"99.5", 99.5}, {"101", 100}, {"3", 100}, {"1e300", 100}}) {
    MetricsReader metrics;
    metrics.add(std::string(R"({"step": 1, "time": )") + time + "}", 100 * second_us);
    EXPECT_EQ(metrics.take(0, true)->step_at_us, static_cast<std::int64_t>(expected * 1e6)) << time;
  }
}

TEST(Metrics, what_says_nothing_is_passed_over) {
  MetricsReader metrics;
  for (const char* bad : {"", "x", "[]", "{}", R"({"epoch": "three"})"}) EXPECT_FALSE(metrics.add(bad, 0)) << bad;
  EXPECT_FALSE(metrics.take(0, true));
}

TEST(Metrics, a_loss_that_is_not_finite_is_told_and_is_no_loss_of_its_epoch) {
  for (const char* loss : {"NaN", "Infinity", "-Infinity", "\"NaN\""}) {
    MetricsReader metrics;
    metrics.add(R"({"epoch": 1, "loss": 0.5, "accuracy": 0.8})", 0);
    EXPECT_TRUE(metrics.add(std::string(R"({"epoch": 2, "accuracy": NaN, "note": "\"NaN", "loss": )") + loss + "}", 1));
    const wire::Progress told = metrics.latest();
    EXPECT_EQ(std::tuple(told.epoch, told.loss, told.epoch_loss, told.accuracy, told.loss_is_not_finite),
              std::tuple(2, std::nullopt, std::nullopt, std::nullopt, true))
        << loss;
    metrics.add(R"({"step": 7, "loss": null})", 2);
    EXPECT_TRUE(metrics.latest().loss_is_not_finite);
    metrics.add(R"({"step": 8, "loss": 2})", 3);
    EXPECT_FALSE(metrics.latest().loss_is_not_finite);
  }
}

TEST(Metrics, of_200000_lines_a_report_a_second_goes_out_and_the_last_one_wins) {
  char folder[] = "/tmp/schedulearn-metrics-XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  const std::string path = std::string(folder) + "/metrics.jsonl";
  std::ofstream file(path);
  file << std::string(3 << 20, 'x') << '\n';  // no line is that long
  for (int step = 1; step <= 200'000; ++step) file << "{\"step\": " << step << ", \"loss\": 0.5}\n";
  file << "{\"step\": 300000";  // half a line
  file.close();
  MetricsReader metrics;
  std::vector<double> told;
  for (std::int64_t now = 0; now < 5 * second_us; now += second_us / 4) {
    metrics.read(path, now, false);
    if (const auto progress = metrics.take(now, false)) told.push_back(*progress->step);
  }
  EXPECT_LE(told.size(), 5U);
  metrics.read(path, 5 * second_us, true);
  if (const auto progress = metrics.take(5 * second_us, true)) told.push_back(*progress->step);
  EXPECT_EQ(told.back(), 200'000);
  std::filesystem::remove_all(folder);
}

// A file costs nothing to make that would take hours to read.
TEST(Metrics, at_the_end_only_the_last_of_a_huge_file_is_read) {
  char folder[] = "/tmp/schedulearn-metrics-XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  const std::string path = std::string(folder) + "/metrics.jsonl";
  std::ofstream(path) << "{\"epoch\": 1}\n";
  std::filesystem::resize_file(path, std::uintmax_t(1) << 40);
  std::ofstream(path, std::ios::app) << "\n{\"step\": 7}\n";
  MetricsReader metrics;
  metrics.read(path, 0, true);
  ASSERT_TRUE(metrics.has_reported());
  EXPECT_EQ(metrics.latest().step, 7);
  std::filesystem::remove_all(folder);
}

TEST(OutputProgressTest, what_the_output_says_counts_until_the_metrics_file_says_something) {
  char folder[] = "/tmp/schedulearn-test-progress-XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  const std::string path = std::string(folder) + "/output";
  MetricsReader metrics;
  OutputProgress progress({"epoch {done}/{total}", {}});
  const auto write = [&](const std::string& text) { std::ofstream(path, std::ios::app) << text; };
  const auto look = [&](std::int64_t now_us) {
    progress.read(path, now_us, metrics);
    return metrics.take(now_us, true);
  };
  EXPECT_FALSE(look(1));
  write("hello\nepoch 1/20\repoch 2/20\repo");
  auto told = look(2);
  ASSERT_TRUE(told);
  EXPECT_EQ(told->step, 2);
  EXPECT_EQ(told->steps, 20);
  EXPECT_FALSE(metrics.has_reported());
  write("ch 3/20\n");
  EXPECT_EQ(look(3)->step, 3) << "a line in two pieces";
  write(std::string(100'000, 'x') + " epoch 9/20\n");
  EXPECT_FALSE(look(4)) << "no line is that long";
  write("epoch 10/20\n" + std::string(3 << 20, '\n') + "epoch 11/20\n");
  EXPECT_EQ(look(5)->step, 11) << "of much output only the end";
  metrics.add("{\"step\": 1}", 5);
  EXPECT_TRUE(metrics.has_reported());
  std::filesystem::remove_all(folder);
}

TEST(Files, a_folder_is_as_large_as_the_files_below_it) {
  char folder[] = "/tmp/schedulearn-folder-XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  EXPECT_FALSE(look_into(folder));
  EXPECT_FALSE(look_into(std::string(folder) + "/none"));
  std::filesystem::create_directory(std::string(folder) + "/sub");
  std::ofstream(std::string(folder) + "/a") << "123";
  std::ofstream(std::string(folder) + "/sub/b") << "4567";
  std::filesystem::create_directory_symlink(folder, std::string(folder) + "/loop");
  EXPECT_EQ(look_into(folder)->bytes, 7);
  EXPECT_GT(look_into(folder)->newest_us, 0);
  std::filesystem::remove_all(folder);
}

// A training can make folders in folders without end.
TEST(Files, of_folders_in_folders_only_the_upper_ones_are_looked_into) {
  char folder[] = "/tmp/schedulearn-folder-XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  std::string deep = folder;
  for (int level = 0; level < 100; ++level) {
    deep += "/d";
    std::filesystem::create_directory(deep);
    if (level == 10 || level == 99) std::ofstream(deep + "/file") << "123";
  }
  EXPECT_EQ(look_into(folder)->bytes, 3);
  std::filesystem::remove_all(folder);
}

class OutputTest : public testing::Test {
 protected:
  OutputTest() { EXPECT_NE(::mkdtemp(dir.data()), nullptr); }
  ~OutputTest() override { std::filesystem::remove_all(dir); }
  void write(char c, std::size_t count) { std::ofstream(dir + "/output", std::ios::app) << std::string(count, c); }
  std::optional<FilePiece> read(std::int64_t offset) {
    return read_piece(dir + "/output", offset, 1 << 20, output_gap(dir));
  }
  std::string dir = "/tmp/schedulearn-output-XXXXXX";
};

TEST_F(OutputTest, over_its_limit_keeps_its_beginning_and_its_end_at_their_offsets) {
  constexpr std::int64_t limit = 65'536;
  write('a', 40'000), write('b', 100'000), write('c', 30'000);
  if (!bound_output(dir, limit)) GTEST_SKIP() << "this file system keeps the middle of files";
  const auto first = read(0), second = read(16'384);
  EXPECT_EQ(first->bytes, std::string(16'384, 'a'));
  EXPECT_EQ(second->offset, 170'000 - 49'152);
  EXPECT_EQ(second->bytes, std::string(19'152, 'b') + std::string(30'000, 'c'));
  EXPECT_EQ(second->size, 170'000);
  write('d', 200'000);
  ASSERT_TRUE(bound_output(dir, limit));
  EXPECT_EQ(read(20'000)->bytes, std::string(49'152, 'd'));
  EXPECT_EQ(read(-10)->bytes, std::string(10, 'd'));
}

TEST_F(OutputTest, under_its_limit_is_left_alone) {
  write('a', 65'536);
  EXPECT_TRUE(bound_output(dir, 65'536));
  EXPECT_EQ(read(0)->bytes.size(), 65'536u);
}

TEST_F(OutputTest, no_number_asks_for_more_than_is_there_or_for_less_than_nothing) {
  write('a', 10);
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min(), most = -(least + 1);
  for (const std::int64_t offset : {least, std::int64_t{-1}, std::int64_t{0}, most}) {
    for (const std::int64_t limit : {least, std::int64_t{-2}, std::int64_t{0}, most}) {
      const auto piece = read_piece(dir + "/output", offset, limit, output_gap(dir));
      ASSERT_TRUE(piece);
      EXPECT_EQ(piece->bytes.size(), limit > 0 ? static_cast<std::size_t>(10 - piece->offset) : 0) << offset << limit;
    }
  }
}

TEST(LauncherWire, what_is_too_long_for_a_frame_is_known_before_it_breaks_the_connection) {
  for (const std::size_t length : {(4U << 20) - 3, (4U << 20) - 2}) {
    const Fields fields = {"a", std::string(length - 1, 'x'), ""};
    FrameReader reader;
    reader.add(frame(fields));
    EXPECT_EQ(reader.next().has_value(), fits_in_frame(fields)) << length;
    EXPECT_EQ(reader.broken(), !fits_in_frame(fields)) << length;
  }
}

TEST(LauncherWire, frames_survive_any_cut) {
  const std::string text = frame({"start", "", "a b"}) + frame({"list"});
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    FrameReader reader;
    std::vector<Fields> got;
    for (const std::string_view part : {std::string_view(text).substr(0, cut), std::string_view(text).substr(cut)}) {
      reader.add(part);
      while (const auto fields = reader.next()) got.push_back(*fields);
    }
    EXPECT_EQ(got, (std::vector<Fields>{{"start", "", "a b"}, {"list"}}));
  }
  FrameReader hostile;
  hostile.add(std::string(8, '\xFF'));
  EXPECT_FALSE(hostile.next());
  EXPECT_TRUE(hostile.broken());
}

}  // namespace
}  // namespace sl::agent
