// Where a job's checkpoint is, and what is ordered so that it is where the job starts.
#include "controller/logic_test.h"

namespace sl::controller::test {
namespace {

// Servers s (session 1) and t (session 2) with two GPUs each; job 1, which has a checkpoint folder, runs on s.
class CheckpointsTest : public LogicTest {
 protected:
  void SetUp() override {
    join("s");
    join("t");
    submit_with_checkpoint();
    run("s");
  }
  void join(const std::string& server, std::vector<wire::AttemptReport> attempts = {}, bool copies = true) {
    wire::Hello hello;
    hello.server = hello.agent_id = server;
    hello.call = ++calls;
    hello.gpus.resize(2);
    hello.gpus[1].index = 1;
    hello.copies_checkpoints = copies;
    hello.attempts = std::move(attempts);
    sessions[server] = ++last_session;
    sent_of[server] = 0;
    logic->on_agent_message(last_session, hello, now);
    settle();
  }
  void leave(const std::string& server) {
    logic->on_agent_closed(sessions[server], now);
    settle();
  }
  void submit_with_checkpoint(const std::string& on_partition = "continue") {
    Logic::Submission submission;
    submission.spec.command = "true", submission.spec.workdir = "/", submission.spec.gpus = {2, 2};
    submission.spec.checkpoint.dir = "";
    submission.spec.on_partition = on_partition;
    logic->submit(std::move(submission), now, [](const Result<JobId>&) {});
    settle();
  }
  void tell_from(const std::string& server, const wire::AttemptReport& told) {
    logic->on_agent_message(sessions[server], wire::AttemptChanged{++sent_of[server], told}, now);
    settle();
  }
  int attempt() const { return logic->book().find(JobId(1))->row.attempt; }
  std::string server() const { return logic->book().find(JobId(1))->row.server; }
  void run(const std::string& on) {
    ASSERT_EQ(server(), on);
    wire::AttemptReport told = report(1, attempt(), "running");
    told.started_us = now.us;
    tell_from(on, told);
    ASSERT_EQ(state(1), "running");
  }
  // It stops at a checkpoint and starts on the other server, which alone takes jobs.
  void move(const std::string& from, const std::string& to) {
    logic->undrain_server(to, "mei", now, [](const Status&) {});
    logic->drain_server(from, {.stops_jobs = true}, "mei", now, [](const Status&) {});
    settle();
    wire::AttemptReport end = report(1, attempt(), "exited", 0);
    end.started_us = 1, end.stopped_by = "order";
    tell_from(from, end);
    ASSERT_EQ(state(1), "starting");
    ASSERT_EQ(server(), to);
  }
  void offer(const std::string& from, std::optional<std::string> error = {}) {
    const auto asked = world.all<wire::OfferCheckpoint>();
    ASSERT_FALSE(asked.empty());
    wire::CheckpointOffered offered;
    offered.seq = ++sent_of[from];
    offered.incarnation = asked.back().incarnation;
    offered.address = "10.0.0.1", offered.port = 99, offered.bytes = 4LL << 30, offered.error = std::move(error);
    logic->on_agent_message(sessions[from], offered, now);
    settle();
  }
  // "s 1 for 2, t 2 for 3": whose checkpoints were asked for, and for which attempts.
  std::string asked() const {
    std::string text;
    for (const auto& order : world.all<wire::OfferCheckpoint>())
      text += (text.empty() ? "" : ", ") + std::to_string(order.source.attempt) + " for " +
              std::to_string(order.incarnation.attempt);
    return text;
  }
  // "1, 2 from s": the attempts that were ordered to start.
  std::string started() const {
    std::string text;
    for (const auto& order : world.all<wire::StartAttempt>())
      text += (text.empty() ? "" : ", ") + std::to_string(order.incarnation.attempt) +
              (order.checkpoint ? " from " + order.checkpoint->server : "");
    return text;
  }
  std::string event(const std::string& kind) const {
    std::string text;
    for (const store::EventRow& row : world.events) {
      if (row.kind == kind) text += (text.empty() ? "" : "; ") + row.text;
    }
    return text;
  }
  std::string transfer() const {
    const auto* found = logic->checkpoints().find(*logic->book().find(JobId(1)));
    return found ? logic->checkpoints().text_of(*found) : "";
  }

  std::map<std::string, SessionId> sessions;
  std::map<std::string, std::int64_t> sent_of;
  SessionId last_session = 0;
};

TEST_F(CheckpointsTest, a_job_that_starts_elsewhere_gets_its_checkpoint_from_where_it_ran) {
  EXPECT_EQ(started(), "1");
  move("s", "t");
  EXPECT_EQ(asked(), "1 for 2");
  EXPECT_EQ(started(), "1") << "the order waits for the offer";
  offer("s");
  EXPECT_EQ(started(), "1, 2 from s");
  const wire::CheckpointSource source = *world.all<wire::StartAttempt>().back().checkpoint;
  EXPECT_EQ(source.address, "10.0.0.1");
  EXPECT_EQ(source.port, 99);
  EXPECT_EQ(source.secret, "") << "entered outside, so that no recording has it";
}

TEST_F(CheckpointsTest, one_that_starts_where_it_ran_needs_nothing) {
  logic->drain_server("t", {.stops_jobs = false}, "mei", now, [](const Status&) {});
  wire::AttemptReport end = report(1, 1, "exited", 75);
  end.started_us = 1;
  tell_from("s", end);
  pass(2);
  EXPECT_EQ(server(), "s");
  EXPECT_EQ(started(), "1, 2");
  EXPECT_EQ(asked(), "");
}

TEST_F(CheckpointsTest, moved_back_it_takes_the_newer_checkpoint_with_it) {
  move("s", "t");
  offer("s");
  run("t");
  move("t", "s");
  EXPECT_EQ(asked(), "1 for 2, 2 for 3");
  offer("t");
  EXPECT_EQ(started(), "1, 2 from s, 3 from t");
}

TEST_F(CheckpointsTest, an_attempt_that_never_ran_has_no_checkpoint) {
  move("s", "t");
  offer("s");
  wire::AttemptReport end = report(1, 2, "exited");
  end.failure_kind = "server_setup", end.failure_message = "no room";
  join("u");
  tell_from("t", end);
  EXPECT_EQ(server(), "u");
  EXPECT_EQ(asked(), "1 for 2, 1 for 3");
}

TEST_F(CheckpointsTest, a_restarted_controller_knows_where_the_checkpoint_is) {
  move("s", "t");
  world.sent.clear();
  restart();
  join("t");
  EXPECT_EQ(started(), "");
  EXPECT_NE(transfer().find("waits for s"), std::string::npos) << transfer();
  join("s");
  EXPECT_EQ(asked(), "1 for 2");
  offer("s");
  EXPECT_EQ(started(), "2 from s");
}

TEST_F(CheckpointsTest, while_the_source_is_away_the_job_waits_for_it) {
  move("s", "t");
  leave("s");
  pass(20);
  EXPECT_EQ(started(), "1");
  EXPECT_EQ(transfer(), "waits for s, where its checkpoint is and whose agent is not connected");
  join("s");
  EXPECT_EQ(asked(), "1 for 2, 1 for 2");
  offer("s");
  EXPECT_EQ(started(), "1, 2 from s");
}

TEST_F(CheckpointsTest, an_agent_that_calls_again_in_the_middle_of_a_copy_offers_anew) {
  move("s", "t");
  offer("s");
  leave("s");
  join("s");
  offer("s");
  EXPECT_EQ(started(), "1, 2 from s, 2 from s");
  leave("t");
  join("t");
  EXPECT_EQ(asked(), "1 for 2, 1 for 2, 1 for 2");
  offer("s");
  EXPECT_EQ(started(), "1, 2 from s, 2 from s, 2 from s");
}

TEST_F(CheckpointsTest, when_the_source_is_declared_lost_the_job_begins_anew) {
  move("s", "t");
  offer("s");
  leave("s");
  logic->declare_lost("s", "mei", now, [](const Status&) {});
  settle();
  EXPECT_EQ(started(), "1, 2 from s, 2");
  EXPECT_EQ(event("job.checkpoint_lost"), "its newest checkpoint is on s, which is lost: it begins anew");
}

TEST_F(CheckpointsTest, a_server_with_a_checkpoint_that_a_job_continues_from_is_not_removed) {
  move("s", "t");
  leave("s");
  const auto removed = [&] {
    std::string said = "nothing";
    logic->remove_server("s", "mei", now,
                         [&](const Status& status) { said = status.ok() ? "ok" : status.error().code; });
    settle();
    return said;
  };
  EXPECT_EQ(removed(), "server-has-jobs");
  logic->declare_lost("s", "mei", now, [](const Status&) {});
  settle();
  EXPECT_EQ(removed(), "ok");
}

TEST_F(CheckpointsTest, when_the_source_is_lost_an_older_checkpoint_counts) {
  move("s", "t");
  offer("s");
  run("t");
  join("u");
  leave("t");
  logic->drain_server("s", {.stops_jobs = false}, "mei", now, [](const Status&) {});
  logic->declare_lost("t", "mei", now, [](const Status&) {});
  settle();
  EXPECT_EQ(event("job.checkpoint_lost"),
            "its newest checkpoint is on t, which is lost: it continues from that of attempt 1 on s");
  EXPECT_EQ(server(), "u");
  EXPECT_EQ(asked(), "1 for 2, 1 for 3");
  restart();
  join("u");
  join("s");
  EXPECT_EQ(asked(), "1 for 2, 1 for 3, 1 for 3") << "the loss is in the database";
}

TEST_F(CheckpointsTest, a_job_that_must_not_wait_for_a_cut_off_server_starts_with_what_there_is) {
  logic->cancel(JobId(1), "mei", now, [](const Result<JobId>&) {});
  settle();
  wire::AttemptReport end = report(1, 1, "exited", 0);
  end.started_us = 1, end.stopped_by = "order";
  tell_from("s", end);
  submit_with_checkpoint("stop");
  const std::string first = logic->book().find(JobId(2))->row.server, second = first == "s" ? "t" : "s";
  wire::AttemptReport told = report(2, 1, "running");
  told.started_us = now.us;
  tell_from(first, told);
  leave(first);
  for (int i = 0; i < 60; ++i) {
    now = now + Duration::whole_seconds(1);
    logic->on_agent_message(sessions[second], wire::Ping{now.us, sent_of[second]}, now);
    settle();
  }
  EXPECT_EQ(logic->book().find(JobId(2))->row.server, second);
  EXPECT_EQ(world.all<wire::StartAttempt>().back().incarnation.attempt, 2);
  EXPECT_EQ(asked(), "");
  EXPECT_EQ(event("job.checkpoint_lost"),
            "its newest checkpoint is on " + first + ", which is cut off: it begins anew");
}

TEST_F(CheckpointsTest, an_attempt_that_left_none_is_followed_by_one_that_starts_without) {
  move("s", "t");
  offer("s", "");
  EXPECT_EQ(started(), "1, 2");
  EXPECT_EQ(event("job.checkpoint_not_copied"), "");
}

TEST_F(CheckpointsTest, what_cannot_be_offered_is_told_and_the_job_starts_without) {
  move("s", "t");
  offer("s", "/c is a link");
  EXPECT_EQ(started(), "1, 2");
  EXPECT_EQ(event("job.checkpoint_not_copied"),
            "its checkpoint on s was not copied: /c is a link; attempt 2 starts with what t has");
}

TEST_F(CheckpointsTest, older_agents_on_either_side_are_told_and_the_job_starts_without) {
  leave("t");
  join("t", {}, false);
  move("s", "t");
  EXPECT_EQ(started(), "1, 2");
  run("t");
  move("t", "s");
  EXPECT_EQ(started(), "1, 2, 3");
  EXPECT_EQ(asked(), "");
  const std::string older = "is of an older version of schedulearn, which does not copy checkpoints";
  EXPECT_EQ(event("job.checkpoint_not_copied"),
            "its checkpoint on s was not copied: the agent of t " + older + "; attempt 2 starts with what t has; " +
                "its checkpoint on t was not copied: the agent of t " + older + "; attempt 3 starts with what s has");
}

TEST_F(CheckpointsTest, an_offer_for_another_attempt_or_of_another_server_is_not_taken) {
  move("s", "t");
  wire::CheckpointOffered offered;
  offered.incarnation = world.all<wire::OfferCheckpoint>().back().incarnation;
  offered.seq = ++sent_of["t"];
  logic->on_agent_message(sessions["t"], offered, now);
  settle();
  EXPECT_EQ(started(), "1");
  offered.incarnation.attempt = 1;
  offered.seq = ++sent_of["s"];
  logic->on_agent_message(sessions["s"], offered, now);
  settle();
  EXPECT_EQ(started(), "1");
}

TEST_F(CheckpointsTest, tells_how_far_the_copy_has_come_and_how_it_went) {
  move("s", "t");
  offer("s");
  const Incarnation incarnation = world.all<wire::StartAttempt>().back().incarnation;
  logic->on_agent_message(sessions["t"], wire::CheckpointProgress{incarnation, 1288490189, 4LL << 30, false}, now);
  EXPECT_EQ(transfer(), "copying its checkpoint from s: 1.2 of 4.0 GiB");
  logic->on_agent_message(sessions["t"], wire::CheckpointProgress{incarnation, 5 << 20, 4LL << 30, true}, now);
  EXPECT_EQ(transfer(), "copying its checkpoint from s through the controller: 5.0 MiB of 4.0 GiB");
  wire::AttemptReport told = report(1, 2, "running");
  told.started_us = now.us;
  told.checkpoint_copy = wire::CheckpointCopy{"copied", "", 4LL << 30, 3.44};
  tell_from("t", told);
  EXPECT_EQ(transfer(), "");
  EXPECT_EQ(event("job.checkpoint_copied"), "4.0 GiB from s in 3.4 s");
}

}  // namespace
}  // namespace sl::controller::test
