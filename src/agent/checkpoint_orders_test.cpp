// What the agent's logic does with an order to start an attempt whose checkpoint is on another server.
#include <gtest/gtest.h>

#include "agent/agent_logic.h"

namespace sl::agent {
namespace {

class FetchPorts : public AgentPorts {
 public:
  void send(const wire::AgentMessage& message) override { sent.push_back(message); }
  Status launch(const std::string& key, const wire::StartAttempt&, const std::vector<wire::AttemptPart>&) override {
    return note("launch " + key), Status();
  }
  Result<int> prepare(const std::string& key, const wire::StartAttempt&) override { return note("prepare " + key), 1; }
  void abandon(const std::string& key) override { note("abandon " + key); }
  void fetch(const std::string& key, const wire::StartAttempt& order) override {
    note("fetch " + key + " from " + order.checkpoint->server);
  }
  void find_image(const std::string&, const wire::StartAttempt&) override {}
  void end_find_image(const std::string&) override {}
  void find_code(const std::string&, const wire::StartAttempt&) override {}
  void end_find_code(const std::string&) override {}
  void end_fetch(const std::string& key, bool discards) override { note((discards ? "discard " : "interrupt ") + key); }
  void offer(const wire::OfferCheckpoint& order) override { note("offer " + key_of(order.source)); }
  void signal(const std::string&, int) override {}
  void pass_on(const std::string&, int) override {}
  void freeze(const std::string&, bool) override {}
  Status ask_to_resize(const std::string&, const wire::ResizeAttempt&) override { return {}; }
  Status keep_gpus(const std::string&, const ResizedGpus&) override { return {}; }
  std::optional<ResizedGpus> kept_gpus(const std::string&) override { return std::nullopt; }
  void forget(const std::string&) override {}
  void renew(Instant) override {}
  void disconnect() override {}
  void remember(const KnownCluster&) override {}

  void note(const std::string& what) { done += (done.empty() ? "" : ", ") + what; }
  const wire::AttemptReport* last_report() const {
    const auto* changed = sent.empty() ? nullptr : std::get_if<wire::AttemptChanged>(&sent.back());
    return changed ? &changed->report : nullptr;
  }
  std::vector<wire::AgentMessage> sent;
  std::string done;
};

class CheckpointOrdersTest : public testing::Test {
 protected:
  void SetUp() override {
    logic.on_launcher_listed();
    open_session();
  }
  void open_session() {
    logic.on_session_opened({}, now);
    logic.on_message(wire::Welcome{"", 1, 30}, now);
    seq = 0;
  }
  void order_start(const std::string& source, int attempt = 2) {
    wire::StartAttempt order;
    order.seq = ++seq;
    order.incarnation = {"", 5, attempt, 0};
    order.placement.gpus = {0};
    if (!source.empty()) order.checkpoint.emplace().server = source;
    logic.on_message(order, now);
  }
  void order_stop() {
    wire::StopAttempt stop;
    stop.seq = ++seq;
    stop.incarnation = {"", 5, 2, 0};
    logic.on_message(stop, now);
  }
  std::int64_t seq = 0;
  FetchPorts ports;
  AgentLogic logic{ports};
  Instant now = Instant::at_seconds(100);
};

TEST_F(CheckpointOrdersTest, an_attempt_is_launched_when_its_checkpoint_is_there) {
  order_start("a");
  EXPECT_EQ(ports.done, "fetch 5.2 from a");
  logic.on_fetched("5.2", wire::CheckpointCopy{"copied", "", 7, 1}, now);
  EXPECT_EQ(ports.done, "fetch 5.2 from a, launch 5.2");
  logic.on_launcher_state({.key = "5.2", .state = "running", .pid = 7});
  ASSERT_TRUE(ports.last_report());
  EXPECT_EQ(ports.last_report()->checkpoint_copy->bytes, 7);
}

TEST_F(CheckpointOrdersTest, it_waits_for_its_gpus_too) {
  order_start("", 1);
  order_start("a");
  logic.on_fetched("5.2", wire::CheckpointCopy{"copied", "", 7, 1}, now);
  EXPECT_EQ(ports.done, "launch 5.1, fetch 5.2 from a");
  logic.on_launcher_state({.key = "5.1", .state = "exited", .exit_code = 0});
  EXPECT_EQ(ports.done, "launch 5.1, fetch 5.2 from a, launch 5.2");
}

TEST_F(CheckpointOrdersTest, the_end_of_another_attempt_does_not_launch_one_that_is_still_being_fetched) {
  order_start("", 1);
  order_start("a");
  logic.on_launcher_state({.key = "5.1", .state = "exited", .exit_code = 0});
  EXPECT_EQ(ports.done, "launch 5.1, fetch 5.2 from a");
}

TEST_F(CheckpointOrdersTest, an_order_that_is_given_again_names_the_source_that_counts) {
  order_start("a");
  order_start("b");
  EXPECT_EQ(ports.done, "fetch 5.2 from a, fetch 5.2 from b");
  order_start("");
  EXPECT_EQ(ports.done, "fetch 5.2 from a, fetch 5.2 from b, discard 5.2, launch 5.2");
  logic.on_fetched("5.2", wire::CheckpointCopy{"copied", "", 7, 1}, now);  // it was on its way
  order_start("a");
  EXPECT_EQ(ports.done, "fetch 5.2 from a, fetch 5.2 from b, discard 5.2, launch 5.2");
}

TEST_F(CheckpointOrdersTest, a_server_without_room_for_it_says_so) {
  order_start("a");
  logic.on_fetched("5.2", unavailable("server_setup", "no room"), now);
  EXPECT_EQ(ports.done, "fetch 5.2 from a");
  ASSERT_TRUE(ports.last_report());
  EXPECT_EQ(ports.last_report()->state, "exited");
  EXPECT_EQ(ports.last_report()->failure_kind, "server_setup");
  EXPECT_EQ(ports.last_report()->failure_message, "no room");
  logic.on_launcher_state({.key = "5.1", .state = "exited"});
  EXPECT_EQ(ports.done, "fetch 5.2 from a");
}

TEST_F(CheckpointOrdersTest, a_stop_ends_the_fetch_and_the_attempt) {
  order_start("a");
  order_stop();
  EXPECT_EQ(ports.done, "fetch 5.2 from a, discard 5.2");
  EXPECT_EQ(ports.last_report()->failure_kind, "lost");
  logic.on_fetched("5.2", wire::CheckpointCopy{"copied", "", 7, 1}, now);
  EXPECT_EQ(ports.done, "fetch 5.2 from a, discard 5.2");
}

TEST_F(CheckpointOrdersTest, a_fetch_is_interrupted_with_its_session_and_continues_with_the_next_order) {
  order_start("a");
  logic.on_session_closed();
  logic.on_fetched("5.2", wire::CheckpointCopy{"copied", "", 7, 1}, now);
  EXPECT_EQ(ports.done, "fetch 5.2 from a, interrupt 5.2");
  open_session();
  order_start("a");
  EXPECT_EQ(ports.done, "fetch 5.2 from a, interrupt 5.2, fetch 5.2 from a");
}

TEST_F(CheckpointOrdersTest, what_arrives_after_the_lease_is_over_starts_nothing) {
  order_start("a");
  logic.on_fetched("5.2", wire::CheckpointCopy{"copied", "", 7, 1}, now + Duration::whole_seconds(30));
  EXPECT_EQ(ports.done, "fetch 5.2 from a, interrupt 5.2");
  EXPECT_TRUE(logic.attempts().empty());
}

TEST_F(CheckpointOrdersTest, offers_in_the_order_of_its_reports_and_only_in_a_session) {
  wire::OfferCheckpoint order;
  order.seq = ++seq;
  order.source = {"", 5, 1, 0};
  logic.on_message(order, now);
  logic.on_message(order, now);  // repeated
  EXPECT_EQ(ports.done, "offer 5.1");
  logic.on_offered({});
  logic.on_offered({});
  EXPECT_EQ(std::get<wire::CheckpointOffered>(ports.sent.back()).seq, 2);
  logic.on_session_closed();
  const std::size_t sent = ports.sent.size();
  logic.on_offered({});
  EXPECT_EQ(ports.sent.size(), sent);
}

}  // namespace
}  // namespace sl::agent
