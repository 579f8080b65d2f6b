// Servers that an admin takes out of service.
#include "controller/logic_test.h"

namespace sl::controller::test {
namespace {

class DrainsTest : public LogicTest {
 protected:
  // Server s runs job 1, which may be stopped, and server t is idle.
  void SetUp() override {
    hello();
    Logic::Submission submission;
    submission.spec.command = "true", submission.spec.workdir = "/", submission.spec.gpus = {2, 2};
    submission.spec.checkpoint.dir = "/c";
    logic->submit(std::move(submission), now, [](const Result<JobId>&) {});
    settle();
    tell(report(1, 1, "running"));
    hello({}, 2, "b", "t");
    reports = 1;  // of the session of s
  }
  std::string drain(const std::string& server, const DrainRequest& wanted = {}) {
    return answer([&](const Logic::Told& told) { logic->drain_server(server, wanted, "mei", now, told); });
  }
  std::string undrain(const std::string& server) {
    return answer([&](const Logic::Told& told) { logic->undrain_server(server, "mei", now, told); });
  }
  std::string answer(const std::function<void(Logic::Told)>& ask) {
    std::string said;
    ask([&](const Status& status) { said = status.ok() ? "ok" : status.error().code; });
    EXPECT_NE(said, "ok") << "nothing is promised before it is durable";
    settle();
    return said;
  }
  ServerState server_state(const std::string& name) const {
    return logic->core().servers()[logic->core().find_server(name)].state;
  }
};

TEST_F(DrainsTest, at_its_deadline_all_that_is_left_there_starts_elsewhere) {
  const std::int64_t deadline = (now + Duration::whole_seconds(10)).us;
  EXPECT_EQ(drain("s", {.reason = "new PSU", .deadline_us = deadline}), "ok");
  const auto preview = logic->drains().preview("s", {.deadline_us = deadline}, now);
  ASSERT_TRUE(preview.ok());
  ASSERT_EQ(preview->size(), 1u);
  EXPECT_NE(preview->front().then.find("then continues from its checkpoint, elsewhere if another server suits it"),
            std::string::npos)
      << preview->front().then;
  EXPECT_EQ(logic->drains().preview("s", {}, now)->front().then, preview->front().then) << "the deadline stands";
  EXPECT_EQ(logic->drains().next_deadline(), Instant{deadline});
  EXPECT_LE(logic->next_wake(), Instant{deadline});
  keep_session();
  pass(9);
  EXPECT_EQ(state(1), "running");
  restart();
  hello({report(1, 1, "running")});
  hello({}, 2, "b", "t");
  pass(2);
  EXPECT_EQ(state(1), "stopping");
  EXPECT_TRUE(logic->drains().find("s")->is_over);
  EXPECT_EQ(logic->drains().find("s")->reason, "new PSU");
  EXPECT_TRUE(std::ranges::any_of(world.events, [](const auto& e) { return e.kind == "server.drain_deadline"; }));
}

TEST_F(DrainsTest, a_preview_changes_nothing_and_a_past_deadline_is_none) {
  EXPECT_EQ(logic->drains().preview("s", {}, now)->front().then, "runs to its end");
  EXPECT_FALSE(logic->drains().find("s"));
  EXPECT_EQ(logic->drains().preview("x", {}, now).error().code, "server-not-found");
  EXPECT_EQ(drain("s", {.deadline_us = now.us - 1}), "bad-deadline");
  EXPECT_FALSE(logic->drains().find("s"));
}

TEST_F(DrainsTest, what_runs_on_a_drained_server_runs_on_and_nothing_new_starts_there) {
  EXPECT_EQ(drain("s"), "ok");
  EXPECT_EQ(server_state("s"), ServerState::draining);
  EXPECT_EQ(state(1), "running");
  tell(report(1, 1, "exited", 0));
  submit(2), settle();
  submit(2), settle();
  EXPECT_EQ(world.jobs[2].server, "t");
  EXPECT_EQ(state(3), "pending");
  EXPECT_EQ(undrain("s"), "ok");
  EXPECT_EQ(world.jobs[3].server, "s");
}

TEST_F(DrainsTest, neither_its_agent_nor_a_restarted_controller_brings_it_back) {
  EXPECT_EQ(drain("s"), "ok");
  logic->on_agent_closed(1, now);
  EXPECT_EQ(server_state("s"), ServerState::down);
  hello({report(1, 1, "running")}, 3);
  EXPECT_EQ(server_state("s"), ServerState::draining);
  restart();
  hello({report(1, 1, "running")}, 4);
  EXPECT_EQ(server_state("s"), ServerState::draining);
  ASSERT_TRUE(logic->drains().find("s"));
  EXPECT_EQ(logic->drains().find("s")->by, "mei");
}

TEST_F(DrainsTest, with_migrate_jobs_with_a_checkpoint_start_elsewhere) {
  EXPECT_EQ(drain("s", {.stops_jobs = true}), "ok");
  EXPECT_EQ(state(1), "stopping");
  wire::AttemptReport end = report(1, 1, "exited", 0);
  end.stopped_by = "order";
  tell(end);
  EXPECT_EQ(world.jobs[1].server, "t");
}

TEST_F(DrainsTest, what_cannot_be_is_refused) {
  EXPECT_EQ(drain("x"), "server-not-found");
  EXPECT_EQ(undrain("s"), "server-not-drained");
  EXPECT_EQ(drain("s"), "ok");
  EXPECT_EQ(drain("s"), "ok");
  EXPECT_EQ(drain("t"), "last-server");
  EXPECT_EQ(server_state("t"), ServerState::up);
}

TEST_F(DrainsTest, a_server_that_was_removed_comes_back_into_service) {
  EXPECT_EQ(drain("t"), "ok");
  logic->on_agent_closed(2, now);
  EXPECT_EQ(answer([&](const Logic::Told& told) { logic->remove_server("t", "mei", now, told); }), "ok");
  hello({}, 3, "b", "t");
  EXPECT_EQ(server_state("t"), ServerState::up);
}

TEST_F(DrainsTest, a_damaged_row_keeps_it_out_of_service) {
  EXPECT_EQ(drain("s"), "ok");
  world.settings["drain/s"] = "{";
  restart();
  hello({report(1, 1, "running")});
  EXPECT_EQ(server_state("s"), ServerState::draining);
}

}  // namespace
}  // namespace sl::controller::test
