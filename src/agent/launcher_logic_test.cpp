#include "agent/launcher_logic.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <csignal>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace sl::agent {
namespace {

// Records what the launcher's logic requests.
class LauncherWorld : public Runtime, public LauncherPorts {
 public:
  Result<std::int64_t> start(const LaunchOrder& order) override {
    if (order.workdir == "/nowhere") return invalid("setup", "no such working directory: /nowhere");
    log.push_back("start " + order.key);
    limits = order.limits;
    return 100;
  }
  bool adopt(const Started& started) override {
    log.push_back("adopt " + started.key);
    return started.pid != gone;
  }
  void join(const JoinOrder& order) override { log.push_back("join " + order.key + " " + order.arguments.front()); }
  void limit(const std::string& key, const Limits& wanted) override {
    log.push_back("limit " + key + " to " + std::to_string(wanted.memory_bytes.value_or(0)));
  }
  MemoryUse memory_use(const std::string&) override { return used; }
  Enforced enforces() override { return {{"memory"}, ""}; }
  void signal(const std::string& key, int number) override {
    if (number != SIGCONT) log.push_back("signal " + key + " " + std::to_string(number));
  }
  void kill(const std::string& key) override { log.push_back("kill " + key); }
  void freeze(const std::string& key) override { log.push_back("freeze " + key), frozen.insert(key); }
  void thaw(const std::string& key) override { log.push_back("thaw " + key), frozen.erase(key); }
  bool is_frozen(const std::string& key) override { return frozen.count(key) != 0; }
  bool is_gone(const std::string& key) override { return lingering.count(key) == 0; }
  void forget(const std::string&) override {}
  void write_end(const LauncherState& state) override { log.push_back("write " + state.key); }
  void write_forgotten(const std::string& key) override { log.push_back("forget " + key); }
  void sync() override { log.push_back("sync"); }
  void write_lease(Instant) override {}
  bool was_started(const std::string& key) override { return over == key; }
  void tell(const Fields& message) override {
    const auto state = to_state(message);
    log.push_back(!state          ? message[0]
                  : state->frozen ? "tell " + state->key + " frozen"
                                  : "tell " + state->key + " " + state->state + state->failure_kind);
  }
  std::int64_t wall_us() override { return 1; }
  std::vector<std::string> take() { return std::exchange(log, {}); }

  std::vector<std::string> log;
  std::string over;
  static constexpr std::int64_t gone = 51;  // the number of a leader that has ended
  std::set<std::string> lingering;          // whose trees have processes left
  std::set<std::string> frozen;
  Limits limits;  // of the attempt that was started last
  MemoryUse used;
};

class LauncherLogicTest : public testing::Test {
 protected:
  void start(const std::string& key, bool fenced = false, const std::string& workdir = "/") {
    logic.obey(to_fields(LaunchOrder{key, fenced, workdir, "/o", "", "0", {"true"}, {"A=b"}}), now);
  }
  void settle() { logic.settle(now); }
  using Log = std::vector<std::string>;
  LauncherWorld world;
  LauncherLogic logic{world, world};
  Instant now = Instant::at_seconds(100);
};

// Whether an agent has asked for its end or not: the journal keeps that.
TEST_F(LauncherLogicTest, is_idle_when_nothing_runs) {
  EXPECT_TRUE(logic.is_idle());
  start("1.1.a");
  settle();
  EXPECT_FALSE(logic.is_idle());
  logic.on_ended("1.1.a", 0);
  settle();
  EXPECT_TRUE(logic.is_idle());
  EXPECT_FALSE(logic.is_done()) << "nobody has told it to shut down";
}

TEST_F(LauncherLogicTest, an_attempt_that_ends_by_a_signal_of_its_user_was_stopped_by_nobody) {
  start("5.1");
  world.take();
  logic.obey({"pass_on", "5.1", "10"}, now);
  logic.obey({"pass_on", "5.1", "9"}, now);
  logic.obey({"pass_on", "5.1", "65"}, now);
  logic.obey({"pass_on", "6.1", "10"}, now);
  EXPECT_EQ(world.take(), (Log{"signal 5.1 10", "kill 5.1"}));
  logic.on_ended("5.1", 9);
  settle();
  EXPECT_EQ(logic.attempts().at("5.1").state.signal, 9);
  EXPECT_EQ(logic.attempts().at("5.1").state.stopped_by, "");
}

TEST_F(LauncherLogicTest, limits_that_came_before_a_start_are_its_own_and_later_ones_are_passed_on) {
  const auto limit = [&](const std::string& key, std::int64_t bytes) {
    logic.obey(to_fields(LimitOrder{key, {.memory_bytes = bytes}}), now);
  };
  limit("1.1", 100), limit("2.1", 200);
  start("2.1");
  EXPECT_EQ(world.limits.memory_bytes, 200);
  start("1.1");
  EXPECT_EQ(world.limits.memory_bytes, 100);
  start("3.1");
  EXPECT_EQ(world.limits.memory_bytes, std::nullopt);
  world.take();
  limit("1.1", 150);
  EXPECT_EQ(world.take(), (Log{"limit 1.1 to 150"}));
  logic.on_ended("1.1", 0), settle();
  world.take();
  limit("1.1", 160);
  EXPECT_EQ(world.take(), Log{}) << "it is over";
}

TEST_F(LauncherLogicTest, an_attempt_that_failed_and_was_denied_memory_says_so) {
  world.used = {3, 32 << 20, 31 << 20};
  const auto end = [&](const std::string& key, int status) {
    logic.on_ended(key, status), settle();
    return logic.attempts().at(key).state;
  };
  for (const char* key : {"1.1", "2.1", "3.1", "4.1", "5.1"}) start(key);
  EXPECT_EQ(end("1.1", SIGKILL).failure_kind, "out_of_memory");
  EXPECT_EQ(logic.attempts().at("1.1").state.failure_message,
            "it wanted more memory than the 32 MiB that it asked for; it had up to 31 MiB");
  EXPECT_EQ(end("2.1", 1 << 8).failure_kind, "out_of_memory");
  EXPECT_EQ(end("3.1", 0).failure_kind, "") << "it went on without the process that was killed";
  EXPECT_EQ(end("4.1", LauncherLogic::unknown_status).failure_kind, "lost") << "nobody knows why it ended";
  logic.obey({"signal", "5.1", "15"}, now);
  EXPECT_EQ(end("5.1", SIGTERM).failure_kind, "") << "it was asked to end";
  world.used = {};
  start("6.1");
  EXPECT_EQ(end("6.1", SIGKILL).failure_kind, "");
}

TEST_F(LauncherLogicTest, a_program_joins_only_what_runs) {
  const auto join = [&](const std::string& key) {
    world.take();
    logic.obey(to_fields(JoinOrder{key, {"/terminal", "folder", ""}}), now);
    return world.take();
  };
  start("1.1");
  EXPECT_EQ(join("1.1"), (Log{"join 1.1 /terminal"}));
  EXPECT_EQ(join("9.9"), Log{});
  logic.obey({"freeze", "1.1"}, now);
  EXPECT_EQ(join("1.1"), Log{}) << "it would not run";
  logic.obey({"thaw", "1.1"}, now);
  world.lingering.insert("1.1");
  logic.on_ended("1.1", 0);
  EXPECT_EQ(join("1.1"), Log{}) << "its end would wait for it";
}

TEST_F(LauncherLogicTest, an_end_is_on_disk_before_it_is_told) {
  start("1.1");
  world.take();
  logic.on_ended("1.1", 3 << 8);
  settle();
  EXPECT_EQ(world.take(), (Log{"write 1.1", "sync", "tell 1.1 exited"}));
  EXPECT_EQ(logic.attempts().at("1.1").state.exit_code, 3);
}

TEST_F(LauncherLogicTest, an_attempt_has_not_ended_before_all_it_started_is_gone) {
  start("1.1");
  world.take();
  world.lingering = {"1.1"};
  logic.on_ended("1.1", 0);
  settle();
  EXPECT_EQ(world.take(), Log{"kill 1.1"});
  logic.obey({"list"}, now);
  EXPECT_EQ(world.take(), (Log{"tell 1.1 running", "limits", "listed"}));
  now = logic.next_wake();
  settle();
  EXPECT_EQ(world.take(), Log{"kill 1.1"});  // until it is
  world.lingering.clear();
  now = logic.next_wake();
  settle();
  EXPECT_EQ(world.take(), (Log{"write 1.1", "sync", "tell 1.1 exited"}));
  EXPECT_EQ(logic.attempts().at("1.1").state.exit_code, 0);
}

TEST_F(LauncherLogicTest, a_kill_is_for_the_whole_tree_and_other_signals_for_the_group) {
  start("1.1");
  world.take();
  logic.obey({"signal", "1.1", "15"}, now);
  logic.obey({"signal", "1.1", "9"}, now);
  EXPECT_EQ(world.take(), (Log{"signal 1.1 15", "kill 1.1"}));
  EXPECT_EQ(logic.attempts().at("1.1").state.stopped_by, "order");
}

TEST_F(LauncherLogicTest, a_frozen_attempt_goes_on_when_it_is_told_to_or_is_to_end) {
  start("1.1"), start("2.1"), world.take();
  logic.obey({"freeze", "1.1"}, now);
  logic.obey({"freeze", "1.1"}, now);  // repeated: only answered
  EXPECT_EQ(world.take(), (Log{"freeze 1.1", "tell 1.1 frozen", "tell 1.1 frozen"}));
  logic.obey({"thaw", "1.1"}, now);
  EXPECT_EQ(world.take(), (Log{"thaw 1.1", "tell 1.1 running"}));
  logic.obey({"freeze", "2.1"}, now), world.take();
  logic.obey({"signal", "2.1", "15"}, now);  // waits for it until it is thawed
  EXPECT_EQ(world.take(), (Log{"signal 2.1 15", "thaw 2.1"}));
  logic.obey({"freeze", "9.1"}, now);
  EXPECT_TRUE(world.take().empty());
}

TEST_F(LauncherLogicTest, a_successor_knows_what_stands_still) {
  world.frozen = {"1.1"};
  logic.recover({{{{"1.1", {.key = "1.1", .pid = 50, .boot = "b"}}}, {}}, "", {}}, "b");
  world.take();
  logic.obey({"list"}, now);
  EXPECT_EQ(world.take(), (Log{"tell 1.1 frozen", "limits", "listed"}));
}

TEST_F(LauncherLogicTest, ends_that_come_together_share_one_sync) {
  start("1.1"), start("2.1");
  world.take();
  logic.on_ended("1.1", 0), logic.on_ended("2.1", 0);
  settle();
  EXPECT_EQ(std::count(world.log.begin(), world.log.end(), "sync"), 1);
}

TEST_F(LauncherLogicTest, starts_an_attempt_once_also_when_it_is_over_and_forgotten) {
  start("1.1"), start("1.1");
  EXPECT_EQ(world.take(), (Log{"start 1.1", "tell 1.1 running", "tell 1.1 running"}));
  world.over = "2.1";
  start("2.1");
  EXPECT_EQ(world.take(), Log{"tell 2.1 exitedlost"});
}

TEST_F(LauncherLogicTest, what_cannot_be_started_ends_with_the_reason) {
  start("1.1", false, "/nowhere");
  settle();
  EXPECT_EQ(world.take(), (Log{"write 1.1", "sync", "tell 1.1 exitedsetup"}));
}

TEST_F(LauncherLogicTest, without_a_lease_fenced_attempts_end_and_others_run_on) {
  logic.obey({"lease", std::to_string((now + Duration::whole_seconds(30)).us)}, now);
  start("1.1", true), start("2.1", false);
  world.take();
  now = now + Duration::whole_seconds(29);
  settle();
  EXPECT_EQ(world.take(), Log{});
  EXPECT_EQ(logic.next_wake(), now + Duration::whole_seconds(1));
  now = now + Duration::whole_seconds(1);
  settle(), settle();
  EXPECT_EQ(world.take(), Log{"signal 1.1 15"});
  EXPECT_EQ(logic.attempts().at("1.1").state.stopped_by, "lease");
  now = logic.next_wake();
  settle(), settle();
  EXPECT_EQ(world.take(), Log{"kill 1.1"});
  start("3.1", true);  // an order from before the cut
  EXPECT_EQ(world.take(), Log{"tell 3.1 exitedlost"});
}

Started started_before(const std::string& key, std::int64_t pid, const std::string& boot) {
  return {key, pid, 7, 1, "0", true, boot, ""};
}

TEST_F(LauncherLogicTest, what_a_predecessor_left_is_adopted_without_an_exit_code) {
  Remains remains;
  remains.journal.started["1.1"] = started_before("1.1", 50, "b");
  remains.journal.started["2.1"] = started_before("2.1", LauncherWorld::gone, "b");
  remains.journal.started["3.1"] = started_before("3.1", 52, "b");
  remains.journal.ends["3.1"] = {.key = "3.1", .state = "exited", .exit_code = 3};
  logic.recover(remains, "b");
  EXPECT_EQ(world.take(), (Log{"adopt 1.1", "adopt 2.1"}));
  settle();
  logic.on_ended("1.1", LauncherLogic::unknown_status);
  settle();
  EXPECT_EQ(logic.attempts().at("1.1").state.failure_kind, "lost");
  EXPECT_EQ(logic.attempts().at("2.1").state.failure_kind, "lost");
  EXPECT_EQ(logic.attempts().at("3.1").state.exit_code, 3);
}

// Their numbers may be other processes' by now, and their lease is in another boot's time.
TEST_F(LauncherLogicTest, what_was_started_in_another_boot_is_over_and_no_process_is_taken_for_it) {
  for (const char* boot : {"earlier", ""}) {
    LauncherLogic successor{world, world};
    Remains remains;
    remains.journal.started["1.1"] = started_before("1.1", 50, boot);
    remains.lease = {boot, now};
    successor.recover(remains, *boot ? "b" : "");
    EXPECT_TRUE(successor.next_wake() <= now) << "only to see that the tree is gone";
    successor.settle(now);
    EXPECT_EQ(world.take(), (Log{"write 1.1", "sync", "tell 1.1 exitedlost"}));
    EXPECT_TRUE(successor.next_wake().is_never()) << "there is no lease";
    EXPECT_NE(successor.attempts().at("1.1").state.failure_message.find("rebooted"), std::string::npos);
  }
}

}  // namespace
}  // namespace sl::agent
