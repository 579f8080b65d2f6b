#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "agent/agent_logic.h"
#include "agent/environment.h"
#include "agent/files.h"
#include "agent/gpu_probe.h"
#include "agent/launcher_logic.h"

namespace sl::agent {
namespace {

// Records what the logic asks for.
class Ports : public AgentPorts {
 public:
  void send(const wire::AgentMessage& message) override { sent.push_back(message); }
  void launch(const std::string& key, const wire::StartAttempt&) override { launched.push_back(key); }
  void signal(const std::string& key, int number) override { signals.emplace_back(key, number); }
  void forget(const std::string& key) override { forgotten.push_back(key); }
  void renew(Instant until) override { lease_until = until; }
  void disconnect() override { ++disconnects; }
  const wire::AttemptReport& last_report() const { return std::get<wire::AttemptChanged>(sent.back()).report; }

  std::vector<wire::AgentMessage> sent;
  std::vector<std::string> launched, forgotten;
  std::vector<std::pair<std::string, int>> signals;
  Instant lease_until;
  int disconnects = 0;
};

class AgentLogicTest : public testing::Test {
 protected:
  AgentLogicTest() {
    logic.on_launcher_listed();
    open_session();
  }
  void open_session() {
    logic.on_session_opened({}, now);
    logic.on_message(wire::Welcome{"", 1, 30}, now);
    seq = 0;
  }
  template <typename Order>
  void give(Order order) {
    order.seq = ++seq;
    logic.on_message(order, now);
  }
  void order_start(int attempt = 1, std::vector<int> gpus = {0}) {
    wire::StartAttempt order;
    order.job_id = 5;
    order.attempt = attempt;
    order.gpus = std::move(gpus);
    give(order);
  }
  std::int64_t seq = 0;
  Ports ports;
  AgentLogic logic{ports};
  Instant now = Instant::at_seconds(100);
};

TEST_F(AgentLogicTest, starts_an_attempt_once_however_often_it_is_told) {
  order_start();
  logic.on_launcher_state({.key = "5.1", .state = "running", .pid = 77, .started_us = 1});
  EXPECT_EQ(ports.last_report().state, "running");
  order_start();
  EXPECT_EQ(ports.launched, std::vector<std::string>{"5.1"});
  EXPECT_EQ(ports.last_report().pid, 77);  // it tells again how it stands
}

TEST_F(AgentLogicTest, stops_with_the_signal_then_kills_after_the_grace) {
  order_start();
  logic.on_launcher_state({.key = "5.1", .state = "running", .pid = 77, .started_us = 1});
  wire::StopAttempt stop;
  stop.job_id = 5, stop.attempt = 1, stop.signal = "USR1", stop.grace_s = 10;
  give(stop);
  give(stop);  // twice is once
  logic.tick(now + Duration::whole_seconds(9));
  EXPECT_EQ(ports.signals, (std::vector<std::pair<std::string, int>>{{"5.1", SIGUSR1}}));
  logic.tick(now + Duration::whole_seconds(10));
  EXPECT_EQ(ports.signals.back(), (std::pair<std::string, int>{"5.1", SIGKILL}));
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
  forget.job_id = 5, forget.attempt = 1;
  give(forget);
  EXPECT_TRUE(ports.forgotten.empty());  // it still runs
  logic.on_launcher_state({.key = "5.1", .state = "exited", .ended_us = 2, .exit_code = 0});
  give(forget);
  EXPECT_EQ(ports.forgotten, std::vector<std::string>{"5.1"});
  EXPECT_TRUE(logic.attempts().empty());
}

TEST_F(AgentLogicTest, says_of_an_attempt_it_never_had_that_it_is_lost) {
  wire::StopAttempt stop;
  stop.job_id = 9, stop.attempt = 4;
  give(stop);
  EXPECT_EQ(ports.last_report().failure_kind, "lost");
}

TEST_F(AgentLogicTest, an_order_that_came_twice_is_ignored_and_a_missing_one_ends_the_session) {
  order_start();
  wire::StartAttempt again;
  again.seq = 1, again.job_id = 5, again.attempt = 1;
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

// Records what the launcher's logic asks for.
class LauncherWorld : public LauncherPorts {
 public:
  Result<std::int64_t> spawn(const LaunchOrder& order) override {
    if (order.workdir == "/nowhere") return invalid("setup", "no such working directory: /nowhere");
    log.push_back("spawn " + order.key);
    return next_pid++;
  }
  void signal(std::int64_t pid, int number) override {
    log.push_back("signal " + std::to_string(pid) + " " + std::to_string(number));
  }
  void write_end(const LauncherState& state) override { log.push_back("write " + state.key); }
  void write_forgotten(const std::string& key) override { log.push_back("forget " + key); }
  void sync() override { log.push_back("sync"); }
  void write_lease(Instant) override {}
  bool was_started(const std::string& key) override { return over == key; }
  void tell(const Fields& message) override {
    const auto state = to_state(message);
    log.push_back(state ? "tell " + state->key + " " + state->state + state->failure_kind : message[0]);
  }
  std::int64_t wall_us() override { return 1; }
  std::vector<std::string> take() { return std::exchange(log, {}); }

  std::vector<std::string> log;
  std::string over;
  std::int64_t next_pid = 100;
};

class LauncherLogicTest : public testing::Test {
 protected:
  void start(const std::string& key, bool fenced = false, const std::string& workdir = "/") {
    logic.obey(to_fields(LaunchOrder{key, fenced, workdir, "/o", "", "0", {"true"}, {"A=b"}}), now);
  }
  void settle() { logic.settle(now); }
  using Log = std::vector<std::string>;
  LauncherWorld world;
  LauncherLogic logic{world};
  Instant now = Instant::at_seconds(100);
};

TEST_F(LauncherLogicTest, an_end_is_on_disk_before_it_is_told) {
  start("1.1");
  world.take();
  logic.on_ended(100, 3 << 8);
  settle();
  EXPECT_EQ(world.take(), (Log{"signal 100 9", "write 1.1", "sync", "tell 1.1 exited"}));
  EXPECT_EQ(logic.attempts().at("1.1").state.exit_code, 3);
}

TEST_F(LauncherLogicTest, ends_that_come_together_share_one_sync) {
  start("1.1"), start("2.1");
  world.take();
  logic.on_ended(100, 0), logic.on_ended(101, 0);
  settle();
  EXPECT_EQ(std::count(world.log.begin(), world.log.end(), "sync"), 1);
}

TEST_F(LauncherLogicTest, starts_an_attempt_once_also_when_it_is_over_and_forgotten) {
  start("1.1"), start("1.1");
  EXPECT_EQ(world.take(), (Log{"spawn 1.1", "tell 1.1 running", "tell 1.1 running"}));
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
  EXPECT_EQ(world.take(), Log{"signal 100 15"});
  now = logic.next_wake();
  settle(), settle();
  EXPECT_EQ(world.take(), Log{"signal 100 9"});
  start("3.1", true);  // an order from before the cut
  EXPECT_EQ(world.take(), Log{"tell 3.1 exitedlost"});
}

TEST_F(LauncherLogicTest, what_a_predecessor_left_is_adopted_without_an_exit_code) {
  logic.adopt({.key = "1.1", .state = "running", .pid = 50}, false);
  logic.adopt_gone({.key = "2.1", .state = "running", .pid = 51});
  settle();
  logic.on_ended(50, LauncherLogic::unknown_status);
  settle();
  EXPECT_EQ(logic.attempts().at("1.1").state.failure_kind, "lost");
  EXPECT_EQ(logic.attempts().at("2.1").state.failure_kind, "lost");
}

wire::StartAttempt order_of(wire::CommandLine command, const std::string& launch = "none") {
  wire::StartAttempt order;
  order.job_id = 5;
  order.attempt = 2;
  order.resume = true;
  order.gpus = {1, 3};
  order.spec.command = std::move(command);
  order.spec.launch = launch;
  order.spec.workdir = "/w";
  order.spec.env = {{"A", "b"}, {"OMP_NUM_THREADS", "4"}};
  return order;
}

bool has(const std::vector<std::string>& list, const std::string& entry) {
  return std::find(list.begin(), list.end(), entry) != list.end();
}

TEST(Environment, a_job_finds_who_it_is_and_which_gpus_it_has_and_no_secrets_of_the_agent) {
  const Execution e = make_execution(order_of("python train.py | tee log"),
                                     {"/d/attempts/5.2", "/d/jobs/5", "/d/torchrun.py", "http://c", 0},
                                     {"PATH=/bin", "SECRET=x", "HOME=/h"});
  EXPECT_TRUE(e.arguments.at(2).ends_with("set -o pipefail\npython train.py | tee log"));
  EXPECT_EQ(e.required, "python");
  for (const char* entry :
       {"SCHEDULEARN_JOB_ID=5", "SCHEDULEARN_ATTEMPT=2", "SCHEDULEARN_RESUME=1", "CUDA_VISIBLE_DEVICES=1,3", "A=b",
        "OMP_NUM_THREADS=4", "PATH=/bin", "SCHEDULEARN_CHECKPOINT_DIR=/d/jobs/5/checkpoints"}) {
    EXPECT_TRUE(has(e.environment, entry)) << entry;
  }
  EXPECT_FALSE(has(e.environment, "SECRET=x"));
}

TEST(Environment, a_vector_is_executed_as_it_is) {
  EXPECT_EQ(make_execution(order_of(std::vector<std::string>{"ls", "$HOME"}), {}, {}).arguments,
            (std::vector<std::string>{"ls", "$HOME"}));
}

TEST(Environment, torchrun_starts_one_process_a_gpu_with_the_interpreter_that_was_asked_for) {
  const AttemptPaths paths{"/a", "/j", "/d/t.py", "", 1234};
  EXPECT_NE(make_execution(order_of("train.py --x 1", "torchrun"), paths, {})
                .arguments[2]
                .find("exec '/usr/bin/python3' '/d/t.py' --nnodes 1 --nproc_per_node 2"),
            std::string::npos);
  EXPECT_NE(make_execution(order_of("/opt/python3.12 train.py", "torchrun"), paths, {})
                .arguments[2]
                .find("exec '/opt/python3.12'"),
            std::string::npos);
  EXPECT_NE(make_execution(order_of(std::vector<std::string>{"train.py", "it's"}, "torchrun"), paths, {})
                .arguments[2]
                .find("'train.py' 'it'\\''s'"),
            std::string::npos);
}

TEST(Environment, the_first_program_of_a_line_is_known_only_when_it_is_plain) {
  EXPECT_EQ(first_program("  python train.py"), "python");
  EXPECT_EQ(first_program("ls;true"), "ls");
  for (const char* line : {"", "cd x && ls", "A=b python x", "$PY x", "(ls)", "\"my prog\"", "for i in 1; do ls; done"})
    EXPECT_EQ(first_program(line), "") << line;
}

TEST(Files, base64_and_metrics_lines) {
  EXPECT_EQ(encode_base64("Man"), "TWFu");
  EXPECT_EQ(encode_base64("Ma"), "TWE=");
  EXPECT_EQ(encode_base64(""), "");
  EXPECT_EQ(parse_metrics_line(R"({"epoch": 3, "epochs": 5, "loss": 0.5})")->done, 3);
  EXPECT_EQ(parse_metrics_line(R"({"step": 30, "accuracy": 0.9})")->unit, "step");
  for (const char* bad : {"", "x", "[]", "{}", "{\"epoch\": \"three\"}"}) EXPECT_FALSE(parse_metrics_line(bad)) << bad;
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

TEST(Gpus, simulated_ones_say_so) {
  const auto probe = make_simulated(3);
  EXPECT_TRUE(probe->simulated());
  EXPECT_EQ(probe->sample().size(), 3u);
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
