// A running attempt goes over to other GPUs of its server: what the agent's logic does, and the files by which the
// training is asked and answers.
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "agent/agent_logic_test.h"
#include "agent/files.h"
#include "agent/resize_request.h"

namespace sl::agent {
namespace {

class ResizeTest : public AgentLogicTest {
 protected:
  // 5.1 runs on the GPUs 0 and 1.
  ResizeTest() {
    order_start(1, {0, 1});
    logic.on_launcher_state(running());
  }
  static LauncherState running() {
    return {.key = "5.1", .state = "running", .pid = 77, .started_us = 1, .gpus = "0,1"};
  }
  void order_resize(std::vector<int> gpus) {
    wire::ResizeAttempt order;
    order.incarnation = {"", 5, 1, 0};
    order.placement.gpus = std::move(gpus);
    order.signal = "USR1", order.grace_s = 10;
    give(order);
  }
  void order_other(std::vector<int> gpus) {
    wire::StartAttempt order;
    order.incarnation = {"", 6, 1, 0};
    order.placement.gpus = std::move(gpus);
    give(order);
  }
  void pass(std::int64_t seconds) { logic.tick(now = now + Duration::whole_seconds(seconds)); }
  std::string held() { return join_gpus(ports.last_report().gpus) + " " + ports.last_report().state; }
};

TEST_F(ResizeTest, it_has_its_new_gpus_and_has_left_the_others_once_it_says_so) {
  order_resize({0});
  EXPECT_EQ(ports.asked, std::vector<std::string>{"5.1 to 0"});
  order_resize({0});  // repeated
  EXPECT_EQ(ports.asked.size(), 1u);
  order_other({1});
  EXPECT_EQ(ports.launched, std::vector<std::string>{"5.1"}) << "it may still use GPU 1";
  logic.on_resized("5.1");
  EXPECT_EQ(ports.launched.back(), "6.1");
  EXPECT_EQ(held(), "0 running");
  pass(20);
  EXPECT_TRUE(ports.signals.empty());
  logic.on_launcher_state(running());
  EXPECT_EQ(held(), "0 running") << "the launcher knows only what it began with";
  order_resize({0});
  EXPECT_EQ(held(), "0 running");
}

TEST_F(ResizeTest, it_is_asked_only_when_its_gpus_are_free) {
  order_other({2});
  logic.on_launcher_state({.key = "6.1", .state = "running", .started_us = 1, .gpus = "2"});
  order_resize({0, 1, 2});
  pass(5);
  EXPECT_TRUE(ports.asked.empty());
  logic.on_launcher_state({.key = "6.1", .state = "exited", .started_us = 1, .gpus = "2"});
  pass(1);
  EXPECT_EQ(ports.asked, std::vector<std::string>{"5.1 to 0,1,2"});
  pass(9);
  EXPECT_TRUE(ports.signals.empty()) << "its time counts from when it is asked";
}

TEST_F(ResizeTest, one_that_does_not_answer_is_stopped_at_a_checkpoint_and_then_killed) {
  order_resize({0});
  pass(9);
  EXPECT_TRUE(ports.signals.empty());
  pass(1);
  EXPECT_EQ(ports.signals, (std::vector<std::pair<std::string, int>>{{"5.1", SIGUSR1}}));
  EXPECT_EQ(logic.attempts().at("5.1").report.state, "stopping");
  logic.on_resized("5.1");
  EXPECT_EQ(join_gpus(logic.attempts().at("5.1").report.gpus), "0,1") << "too late";
  pass(10);
  EXPECT_EQ(ports.signals.back().second, SIGKILL);
}

TEST_F(ResizeTest, one_that_cannot_be_asked_is_stopped_at_once) {
  ports.cannot_ask = unavailable("server_setup", "no space left");
  order_resize({0});
  EXPECT_EQ(ports.signals, (std::vector<std::pair<std::string, int>>{{"5.1", SIGUSR1}}));
}

// It may be going over to them at this moment.
TEST_F(ResizeTest, the_gpus_it_was_asked_to_use_are_not_given_to_others_while_it_is_being_stopped) {
  order_resize({0, 1, 2});
  wire::StopAttempt stop;
  stop.incarnation = {"", 5, 1, 0};
  give(stop);
  order_other({2});
  EXPECT_EQ(ports.launched, std::vector<std::string>{"5.1"});
  LauncherState ended = running();
  ended.state = "exited";
  logic.on_launcher_state(ended);
  EXPECT_EQ(ports.launched.back(), "6.1");
}

TEST_F(ResizeTest, the_next_agent_knows_which_gpus_it_has_and_which_it_was_asked_to_use) {
  order_resize({0});
  logic.on_resized("5.1");
  order_resize({0, 2});
  AgentLogic next(ports);
  next.on_launcher_state(running());
  next.on_launcher_listed();
  EXPECT_EQ(next.attempts().at("5.1").report.gpus, std::vector<int>{0});
  EXPECT_EQ(next.attempts().at("5.1").asked, (std::vector<int>{0, 2}));
}

TEST_F(ResizeTest, an_attempt_that_is_not_running_is_not_asked) {
  wire::StopAttempt stop;
  stop.incarnation = {"", 5, 1, 0};
  give(stop);
  order_resize({0});
  EXPECT_EQ(ports.last_report().state, "stopping");
  wire::ResizeAttempt unknown;
  unknown.incarnation = {"", 9, 1, 0};
  give(unknown);
  EXPECT_EQ(ports.last_report().failure_kind, "lost");
  EXPECT_TRUE(ports.asked.empty());
}

TEST_F(ResizeTest, one_that_is_asked_is_not_frozen) {
  order_resize({0});
  give(wire::FreezeAttempt{0, {"", 5, 1, 0}});
  EXPECT_TRUE(ports.freezes.empty());
}

// What was asked in a session that is over is asked again in the next, if it is still wanted.
TEST_F(ResizeTest, nobody_is_stopped_for_it_while_there_is_no_session) {
  order_resize({0});
  logic.on_session_closed();
  pass(60);
  EXPECT_TRUE(ports.signals.empty());
  open_session();
  pass(0);
  EXPECT_EQ(ports.signals.size(), 1u);
}

class ResizeFiles : public testing::Test {
 protected:
  ResizeFiles() {
    char name[] = "/tmp/schedulearn-test-XXXXXX";
    folder = ::mkdtemp(name);
  }
  ~ResizeFiles() override { std::filesystem::remove_all(folder); }
  static wire::Placement gpus(std::vector<int> indexes) {
    wire::Placement placement;
    placement.gpus = std::move(indexes);
    return placement;
  }
  void answer() const { std::filesystem::rename(folder + "/resize", folder + "/resize.done"); }
  std::string folder;
};

TEST_F(ResizeFiles, a_request_is_answered_by_renaming_it) {
  ASSERT_TRUE(write_gpus(folder, {{0}, {0, 2}}).ok());
  ASSERT_TRUE(write_resize_request(folder, gpus({0, 2})).ok());
  EXPECT_EQ(read_text(folder + "/resize"), "{\"gpus\":2,\"visible_devices\":\"0,2\"}\n");
  EXPECT_FALSE(is_resize_done(folder));
  answer();
  EXPECT_TRUE(is_resize_done(folder));
  ASSERT_TRUE(write_gpus(folder, {{0}, {0, 2}}).ok());
  ASSERT_TRUE(write_resize_request(folder, gpus({0, 2})).ok());
  EXPECT_TRUE(is_resize_done(folder)) << "asked again by the next agent";
  EXPECT_FALSE(std::filesystem::exists(folder + "/resize"));
  ASSERT_TRUE(write_gpus(folder, {{0, 2}, {}}).ok());
  ASSERT_TRUE(write_gpus(folder, {{0, 2}, {0}}).ok());
  EXPECT_FALSE(is_resize_done(folder)) << "the answer to another request";
}

TEST_F(ResizeFiles, what_is_kept_is_read_again) {
  EXPECT_FALSE(read_gpus(folder));
  ASSERT_TRUE(write_gpus(folder, {{0, 1}, {2}}).ok());
  EXPECT_EQ(read_gpus(folder)->held, (std::vector<int>{0, 1}));
  EXPECT_EQ(read_gpus(folder)->asked, (std::vector<int>{2}));
  ASSERT_TRUE(write_gpus(folder, {{2}, {}}).ok());
  EXPECT_TRUE(read_gpus(folder)->asked.empty());
  std::ofstream(folder + "/gpus") << "0";
  EXPECT_FALSE(read_gpus(folder)) << "half a file";
}

TEST_F(ResizeFiles, a_folder_that_cannot_be_written_is_an_error) {
  EXPECT_EQ(write_resize_request(folder + "/none", gpus({0})).error().code, "server_setup");
  EXPECT_EQ(write_gpus(folder + "/none", {}).error().code, "server_setup");
}

}  // namespace
}  // namespace sl::agent
