// What the controller does not take, by the codes of its errors, and that nothing comes of it.
#include <future>

#include "controller/forecasts.h"
#include "controller/history.h"
#include "controller/logic_test.h"
#include "controller/logs.h"
#include "controller/recording.h"
#include "controller/tried_policies.h"

namespace sl::controller::test {
namespace {

class RefusalsTest : public LogicTest {
 protected:
  // The codes of what has been answered, "ok" for a job.
  std::string said() {
    std::string text;
    for (const Result<JobId>& answer : answers)
      text += (text.empty() ? "" : " ") + (answer.ok() ? "ok" : answer.error().code);
    return text;
  }
};

TEST_F(RefusalsTest, a_full_queue_takes_no_further_job_until_one_has_ended) {
  settings.queue_max = 2;
  restart();
  hello();
  for (int i = 0; i < 2; ++i) submit(1), settle();
  submit(1);
  EXPECT_EQ(said(), "queue-full");
  settle();
  EXPECT_EQ(world.jobs.size(), 2u);
  tell(report(1, 1, "running"));
  tell(report(1, 1, "exited", 0));
  submit(1), settle();
  EXPECT_EQ(said(), "ok");
}

TEST_F(RefusalsTest, one_user_s_jobs_do_not_fill_the_memory_that_all_share) {
  settings.user_bytes_max = 1;
  restart();
  hello();
  submit(1), settle();
  EXPECT_EQ(said(), "ok");
  submit(1), settle();
  EXPECT_EQ(said(), "too-much-submitted");
  answers.clear();
  logic->edit(JobId(1), {.name = "a much longer name"}, "mei", now,
              [this](Result<JobId> job) { answers.push_back(std::move(job)); });
  settle();
  EXPECT_EQ(said(), "too-much-submitted");
  tell(report(1, 1, "running"));
  tell(report(1, 1, "exited", 0));
  submit(1), settle();
  EXPECT_EQ(said(), "ok");
}

TEST_F(RefusalsTest, the_same_submission_waits_until_the_first_is_durable) {
  hello();
  submit(1, "key");
  logic->turn(now);
  submit(1, "key");
  EXPECT_EQ(said(), "submission-in-flight");
  settle();
  EXPECT_EQ(world.jobs.size(), 1u);
  submit(1, "key"), settle();
  EXPECT_EQ(said(), "ok");
  EXPECT_EQ(world.jobs.size(), 1u);
}

TEST_F(RefusalsTest, a_folder_that_no_server_could_find) {
  hello();
  Logic::Submission submission;
  submission.spec.command = "true", submission.spec.gpus = {1, 1};
  for (const char* folder : {"relative", "./here", "~mei/there"}) {
    submission.spec.workdir = folder;
    logic->submit(submission, now, [this](const Result<JobId>& job) { answers.push_back(job); });
    EXPECT_EQ(answers.back().error().code, "bad-workdir") << folder;
  }
  for (const char* folder : {"/w", "~", "~/w", ""}) {
    submission.spec.workdir = folder;
    logic->submit(submission, now, [this](const Result<JobId>& job) { answers.push_back(job); });
    settle();
    EXPECT_TRUE(answers.back().ok()) << folder;
  }
}

TEST(AgentsTest, an_agent_needs_our_protocol_and_a_name_of_its_own) {
  Agents agents;
  const Instant now = Instant::at_seconds(1);
  wire::Hello good;
  good.server = "s", good.agent_id = "a";
  ASSERT_TRUE(agents.open(1, good, now).ok());
  const auto code_of = [&](SessionId session, const wire::Hello& hello) {
    return agents.open(session, hello, now).error().code;
  };
  wire::Hello other = good;
  other.protocol = 1'000'000;
  EXPECT_EQ(code_of(2, other), "protocol-version");
  for (const char* name : {"", "..", "rack/gpu1", "rack=a", "gpu\x1b[2J", "a b"}) {
    other = good, other.server = name;
    EXPECT_EQ(code_of(2, other), "server-name") << name;
  }
  other = good, other.agent_id = "b";
  EXPECT_EQ(code_of(2, other), "server-name-taken");
  EXPECT_EQ(agents.by_session(1)->agent_id, "a");
  EXPECT_EQ(agents.connected(), 1u);
}

TEST_F(RefusalsTest, output_that_is_no_base64_or_is_not_there) {
  World outside;
  Agents agents;
  wire::Hello hello;
  hello.server = "s", hello.agent_id = "a";
  ASSERT_TRUE(agents.open(1, hello, now).ok());
  Logs logs(agents, outside);
  Output output;
  output.server = "s";
  std::string code;
  const auto read = [&] {
    logs.read(output, 0, 100, 0, [&](const Result<LogPiece>& piece) { code = piece.ok() ? "ok" : piece.error().code; });
  };
  const auto answer = [&](wire::LogChunk chunk) {
    read();
    chunk.request = outside.all<wire::LogRead>().back().request;
    logs.on_chunk(1, chunk);
    return code;
  };
  wire::LogChunk chunk;
  chunk.data = "aGk=";
  EXPECT_EQ(answer(chunk), "ok");
  chunk.data = "%%%";
  EXPECT_EQ(answer(chunk), "bad-output");
  chunk.data = "", chunk.error = "no such attempt";
  EXPECT_EQ(answer(chunk), "output-not-found");
  chunk.error = "unreadable", chunk.text = "Input/output error";
  EXPECT_EQ(answer(chunk), "file-unreadable");
}

TEST_F(RefusalsTest, a_frozen_job_that_is_about_to_go_on_is_not_frozen_again_yet) {
  hello();
  submit_freezable("stop");
  tell(report(1, 1, "running"));
  const auto ask = [&](const char* verb) {
    std::string code = "ok";
    logic->intervene(JobId(1), *wire::parse_intervention(verb, ""), "mei", now,
                     [&](const Result<JobId>& done) { code = done.ok() ? "ok" : done.error().code; });
    settle();
    return code;
  };
  EXPECT_EQ(ask("suspend"), "ok");
  tell(report(1, 1, "frozen"));
  EXPECT_EQ(ask("resume"), "ok");
  EXPECT_EQ(ask("suspend"), "job-starting");
  tell(report(1, 1, "running"));
  EXPECT_EQ(ask("suspend"), "ok");
}

TEST_F(RefusalsTest, what_needs_forecasts_or_python_where_there_are_none) {
  Inbox inbox;
  Forecasts none(
      *logic, {}, OwnPolicyMaker{}, [this] { return now; }, [&](auto work) { inbox.put(std::move(work)); });
  std::string code;
  try_on_present(none, {}, now, [&](const Result<TriedPolicies>& tried) { code = tried.error().code; });
  EXPECT_EQ(code, "no-forecasts");
  PolicyChange own;
  own.name = "mine.py", own.source = "policy = 1";
  EXPECT_EQ(none.maker_of(own).error().code, "no-own-policies");
}

TEST(HistoryTest, takes_only_so_many_questions_about_the_past_at_a_time) {
  std::vector<std::unique_ptr<store::Reader>> readers;
  readers.push_back(std::make_unique<NoPast>());
  History history(std::move(readers), [](const std::function<void()>& work) { work(); });
  std::promise<void> go_on;
  const std::shared_future<void> gate = go_on.get_future().share();
  std::atomic<int> answered = 0;
  int asked = 0;
  std::string code;
  while (code.empty() && asked < 10'000) {
    ++asked;
    history.ask<int>(
        [gate](store::Reader&) {
          gate.wait();
          return Result<int>(1);
        },
        [&](const Result<int>& answer) { answer.ok() ? void(++answered) : void(code = answer.error().code); });
  }
  EXPECT_EQ(code, "too-many-reads");
  EXPECT_EQ(answered, 0);
  go_on.set_value();
  while (answered < asked - 1) std::this_thread::yield();
}

}  // namespace
}  // namespace sl::controller::test
