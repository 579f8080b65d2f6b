#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>

#include "agent/agent_logic.h"
#include "agent/environment.h"
#include "agent/files.h"
#include "agent/gpu_probe.h"

namespace sl::agent {
namespace {

// Records what the logic asks for.
class Ports : public AgentPorts {
 public:
  void send(const wire::AgentMessage& message) override { sent.push_back(message); }
  void launch(const std::string& key, const wire::StartAttempt&) override { launched.push_back(key); }
  void signal(const std::string& key, int number) override { signals.emplace_back(key, number); }
  void forget(const std::string& key) override { forgotten.push_back(key); }
  const wire::AttemptReport& last_report() const { return std::get<wire::AttemptChanged>(sent.back()).report; }

  std::vector<wire::AgentMessage> sent;
  std::vector<std::string> launched, forgotten;
  std::vector<std::pair<std::string, int>> signals;
};

class AgentLogicTest : public testing::Test {
 protected:
  AgentLogicTest() { logic.on_launcher_listed(); }
  void order_start() {
    wire::StartAttempt order;
    order.job_id = 5;
    order.attempt = 1;
    order.gpus = {0};
    logic.on_message(order, now);
  }
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
  logic.on_message(stop, now);
  logic.on_message(stop, now);  // twice is once
  logic.tick(now + Duration::whole_seconds(9));
  EXPECT_EQ(ports.signals, (std::vector<std::pair<std::string, int>>{{"5.1", SIGUSR1}}));
  logic.tick(now + Duration::whole_seconds(10));
  EXPECT_EQ(ports.signals.back(), (std::pair<std::string, int>{"5.1", SIGKILL}));
}

TEST_F(AgentLogicTest, tells_everything_it_holds_when_a_session_opens) {
  order_start();
  logic.on_launcher_state({.key = "5.1", .state = "exited", .pid = 77, .started_us = 1, .ended_us = 2, .exit_code = 3});
  logic.on_session_opened({});
  const auto& hello = std::get<wire::Hello>(ports.sent.back());
  ASSERT_EQ(hello.attempts.size(), 1u);
  EXPECT_EQ(hello.attempts[0].exit_code, 3);
}

TEST_F(AgentLogicTest, keeps_an_end_until_the_controller_says_it_may_be_forgotten) {
  order_start();
  wire::ForgetAttempt forget;
  forget.job_id = 5, forget.attempt = 1;
  logic.on_message(forget, now);
  EXPECT_TRUE(ports.forgotten.empty());  // it still runs
  logic.on_launcher_state({.key = "5.1", .state = "exited", .ended_us = 2, .exit_code = 0});
  logic.on_message(forget, now);
  EXPECT_EQ(ports.forgotten, std::vector<std::string>{"5.1"});
  EXPECT_TRUE(logic.attempts().empty());
}

TEST_F(AgentLogicTest, says_of_an_attempt_it_never_had_that_it_is_lost) {
  wire::StopAttempt stop;
  stop.job_id = 9, stop.attempt = 4;
  logic.on_message(stop, now);
  EXPECT_EQ(ports.last_report().failure_kind, "lost");
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
  EXPECT_EQ(e.arguments, (std::vector<std::string>{"/bin/bash", "-c", "set -o pipefail\npython train.py | tee log"}));
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
