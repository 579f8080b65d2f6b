// A damaged row loses only what it described, and an event reports it.
#include "controller/logic_test.h"

namespace sl::controller::test {
namespace {

class DamagedRowsTest : public LogicTest {
 protected:
  // The texts of the events about skipped rows.
  std::vector<std::string> set_aside() const {
    std::vector<std::string> texts;
    for (const store::EventRow& event : world.events) {
      if (event.kind == "database.row_set_aside") texts.push_back(event.text);
    }
    return texts;
  }
};

TEST_F(DamagedRowsTest, of_a_server_leave_the_other_servers_and_the_server_is_back_when_its_agent_calls) {
  hello();
  const store::ServerRow good = world.servers.at("s");
  store::ServerRow other = good;
  other.name = "t";  // its description names another server
  world.servers["broken"] = {"broken", "a", "{\"server\":", 5};
  world.servers[other.name] = other;
  restart();
  EXPECT_EQ(logic->core().servers().size(), 1U);
  ASSERT_EQ(set_aside().size(), 2U);
  EXPECT_NE(set_aside()[0].find("server broken cannot be read"), std::string::npos);
  EXPECT_NE(set_aside()[1].find("it describes a server called s"), std::string::npos);
  pass(100);  // leases run out
  hello();
  submit(2), settle();
  EXPECT_EQ(state(1), "starting");
}

TEST_F(DamagedRowsTest, of_a_profile_leave_the_other_profiles) {
  wire::TrainingProfile good;
  good.family = "good";
  good.epochs = 10, good.steps_per_epoch = 100;
  good.speeds = {{1, 1, "", 0, 10, {}, {}}};
  logic->put_profile(good, "mei", now, [](const Status&) {});
  settle();
  world.profiles["bad"] = {"bad", "{\"schedulearn_profile\":", 5};
  restart();
  EXPECT_EQ(logic->profiles().all().size(), 1U);
  ASSERT_EQ(set_aside().size(), 1U);
  EXPECT_NE(set_aside()[0].find("profile bad"), std::string::npos);
}

TEST_F(DamagedRowsTest, of_the_policy_leave_the_one_before_in_force) {
  ASSERT_EQ(use("srtf"), "ok");
  ASSERT_EQ(use("edf"), "ok");
  world.policies.back().parameters_json = "{\"a\"";
  restart();
  EXPECT_EQ(logic->policies().in_force().name, "srtf");
  ASSERT_EQ(set_aside().size(), 1U);
  EXPECT_NE(set_aside()[0].find("policy edf"), std::string::npos);
  EXPECT_NE(world.events.back().data_json.find("content"), std::string::npos);
}

TEST_F(DamagedRowsTest, what_follows_a_job_that_cannot_be_restored_fails) {
  submit(1), settle();
  wire::JobSpec spec;
  spec.command = "true";
  spec.workdir = "/";
  spec.after = {1};
  logic->submit({.spec = spec, .idempotency_key = "", .body_hash = ""}, now, [](const Result<JobId>&) {});
  spec.after.clear();
  spec.array = "0-4";
  logic->submit({.spec = spec, .idempotency_key = "", .body_hash = ""}, now, [](const Result<JobId>&) {});
  settle();
  EXPECT_EQ(state(2), "pending");
  world.jobs[1].spec_json = "{";
  world.jobs[4].spec_json = "{";  // a member that has come up
  restart();
  EXPECT_EQ(state(1), "failed");
  EXPECT_EQ(state(2), "failed");
  EXPECT_EQ(world.jobs[2].failure_kind, "dependency");
  EXPECT_EQ(world.jobs[2].failure_message, "it was to start after job 1, which has failed");
  EXPECT_EQ(state(3), "pending") << "its other members are to come";
  logic->cancel(JobId(3), "mei", now, [](const Result<JobId>&) {});
  settle();
  EXPECT_EQ(state(3), "cancelled");
}

}  // namespace
}  // namespace sl::controller::test
