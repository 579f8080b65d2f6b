// Attempts on several servers: prepared, then launched with all others or taken back.
#include "agent/agent_logic_test.h"

namespace sl::agent {
namespace {

class PreparedTest : public AgentLogicTest {
 protected:
  void order_part(int attempt = 1, std::vector<int> gpus = {0}) {
    wire::StartAttempt order;
    order.incarnation = {"", 5, attempt, 0};
    order.placement.gpus = std::move(gpus);
    order.placement.servers = 2;
    give(order);
  }
  void order_launch() {
    wire::LaunchAttempt launch;
    launch.incarnation = {"", 5, 1, 0};
    launch.parts = {{"a", "10.0.0.1", 7000, 1, ""}, {"b", "", 1, 2, ""}};
    give(launch);
  }
  void order_stop() {
    wire::StopAttempt stop;
    stop.incarnation = {"", 5, 1, 0};
    give(stop);
  }
};

TEST_F(PreparedTest, an_attempt_on_several_servers_starts_when_it_is_told_that_all_are_ready) {
  order_part();
  EXPECT_EQ(ports.prepared, std::vector<std::string>{"5.1"});
  EXPECT_EQ(ports.last_report().state, "prepared");
  EXPECT_EQ(ports.last_report().port, 7000);
  EXPECT_EQ(ports.last_report().gpus, std::vector<int>{0});
  order_part();
  EXPECT_EQ(ports.prepared.size(), 1u);
  EXPECT_TRUE(ports.launched.empty());
  order_launch();
  EXPECT_EQ(ports.launched, std::vector<std::string>{"5.1"});
  EXPECT_EQ(ports.launched_with.size(), 2u);
  order_launch();
  EXPECT_EQ(ports.launched.size(), 1u);
  EXPECT_TRUE(ports.abandoned.empty());
}

TEST_F(PreparedTest, what_is_prepared_holds_its_gpus_until_it_is_taken_back) {
  order_part();
  order_start(2);
  EXPECT_TRUE(ports.launched.empty());
  order_stop();
  EXPECT_EQ(ports.abandoned, std::vector<std::string>{"5.1"});
  EXPECT_EQ(ports.launched, std::vector<std::string>{"5.2"});
  order_launch();
  EXPECT_EQ(ports.last_report().failure_kind, "lost");
  EXPECT_EQ(ports.launched.size(), 1u);
}

TEST_F(PreparedTest, what_is_prepared_is_dropped_with_its_session_or_when_it_cannot_be_had) {
  order_part();
  logic.on_session_closed();
  EXPECT_EQ(ports.abandoned, std::vector<std::string>{"5.1"});
  open_session();
  EXPECT_TRUE(logic.attempts().empty());
  ports.cannot_launch = unavailable("server_setup", "no port");
  order_part();
  EXPECT_EQ(ports.last_report().failure_kind, "server_setup");
}

TEST_F(PreparedTest, a_part_waits_for_the_gpus_of_one_that_is_on_its_way_out) {
  order_start(3);
  logic.on_launcher_state({.key = "5.3", .state = "running", .pid = 7, .started_us = 1, .gpus = "0"});
  order_part();
  EXPECT_TRUE(ports.prepared.empty());
  logic.on_launcher_state({.key = "5.3", .state = "exited", .pid = 7, .started_us = 1, .ended_us = 2, .gpus = "0"});
  EXPECT_EQ(ports.last_report().state, "prepared");
}

}  // namespace
}  // namespace sl::agent
