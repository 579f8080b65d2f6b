// What `why` says: the rule that placed a job, what is kept for a waiting one, and why a policy rejected one.
#include "controller/explain.h"

#include "controller/logic_test.h"
#include "controller/views.h"

namespace sl::controller {
namespace {

class Explain : public test::LogicTest {
 protected:
  Explain() { hello(); }
  boost::json::object why(std::int64_t id) {
    return wire::to_value(explain_view(*logic, *logic->book().find(JobId(id)), now)).get_object();
  }
  std::string summary(std::int64_t id) { return why(id).at("summary").as_string().c_str(); }
  std::string shown(std::int64_t id) {
    return job_details_view(*logic, *logic->book().find(JobId(id)), now, true).reason.value().text;
  }
  std::string listed(std::int64_t id) {
    const Line line(*logic, now);
    const std::string text = job_text(*logic, *logic->book().find(JobId(id)), now, true, &line);
    return boost::json::parse(text).at("reason").at("text").as_string().c_str();
  }
  void submit_lasting(int gpus, double estimate_s, std::optional<double> deadline_s = {}) {
    Logic::Submission submission;
    submission.spec.command = "true";
    submission.spec.workdir = "/";
    submission.spec.gpus = {gpus, gpus};
    submission.spec.estimate_s = estimate_s;
    submission.spec.deadline_s = deadline_s;
    logic->submit(std::move(submission), now, [](const Result<JobId>&) {});
    settle();
  }
};

TEST_F(Explain, a_running_job_is_where_the_policy_that_placed_it_puts_jobs_whoever_rules_now) {
  use("round_robin");
  pass(1);
  submit(1);
  settle();
  tell(report(1, 1, "running"));
  EXPECT_EQ(summary(1), "job 1 is running on s, the next server in turn with enough free GPUs (policy round_robin)");
  pass(5);
  use("fifo");
  EXPECT_EQ(summary(1), "job 1 is running on s, the next server in turn with enough free GPUs (policy round_robin)");
}

TEST_F(Explain, a_job_that_waits_for_room_says_when_and_where_gpus_are_kept_for_it) {
  use("fifo_easy");
  const Instant started = now;
  submit_lasting(2, 100);
  submit_lasting(2, 10);
  submit_lasting(1, 1000);
  const boost::json::object first = why(2);
  EXPECT_EQ(first.at("reservations").at(0).at("at").as_string(), rfc3339((started + Duration::whole_seconds(100)).us));
  EXPECT_EQ(boost::json::serialize(first.at("reservations").at(0).at("on")), R"([{"server":"s","gpus":2}])");
  EXPECT_TRUE(why(1).at("reservations").as_array().empty());
}

TEST_F(Explain, a_member_that_has_not_come_up_waits_for_what_its_array_waits_for) {
  submit_lasting(1, 100);
  submit_lasting(2, 100);
  Logic::Submission group;
  group.spec.command = "true", group.spec.workdir = "/", group.spec.array = "0-9";
  logic->submit(std::move(group), now, [](const Result<JobId>&) {});
  settle();
  const JobId last(13);
  ASSERT_TRUE(logic->core().group_of_member_to_come(last).valid());
  EXPECT_EQ(
      to_come_text(*logic, last, Line(*logic, now), now),
      "comes up after the members of group 3 before it: behind job 2, which needs 2 free GPUs on one server; fifo "
      "does not let it pass, fifo_first_fit would");
}

// What `why`, `show` and `ls` say.
TEST_F(Explain, every_answer_gives_the_same_reason_which_names_the_job_in_front_and_a_policy_that_helps) {
  submit_lasting(1, 100);
  submit_lasting(2, 100);
  submit_lasting(1, 100);
  const std::string reason =
      "behind job 2, which needs 2 free GPUs on one server; fifo does not let it pass, fifo_first_fit would";
  EXPECT_EQ(summary(3), "job 3 waits: " + reason);
  EXPECT_EQ(shown(3), reason);
  EXPECT_EQ(listed(3), reason);
  EXPECT_EQ(shown(2), "first in line, needs 2 free GPUs on one server");
  use("fifo_first_fit");
  EXPECT_EQ(state(3), "starting");  // as was said
}

TEST_F(Explain, a_policy_whose_parameter_keeps_jobs_from_passing_says_which) {
  use("sjf", {{"head", "block"}});
  submit_lasting(1, 100);
  submit_lasting(2, 200);
  submit_lasting(1, 300);
  EXPECT_EQ(shown(3),
            "behind job 2, which needs 2 free GPUs on one server; sjf does not let it pass, with head=skip it would");
}

TEST_F(Explain, only_a_job_that_shares_its_gpus_is_told_the_rule_for_sharing) {
  use("fifo");
  submit(1);
  settle();
  tell(report(1, 1, "running"));
  EXPECT_EQ(summary(1), "job 1 is running on s, the server with the fewest free GPUs that suffice (policy fifo)");
}

TEST_F(Explain, a_job_that_fits_no_server_is_refused_with_the_most_gpus_there_are) {
  submit(3);
  EXPECT_EQ(answers[0].error().code, "gpus-unsatisfiable");
  EXPECT_EQ(answers[0].error().message,
            "no server can ever run this job: needs 3 GPUs on one server, the largest server has 2");
}

TEST_F(Explain, a_job_for_which_there_is_no_room_says_which_is_first) {
  submit_lasting(2, 100);
  submit_lasting(2, 100);
  submit_lasting(1, 100);
  EXPECT_EQ(shown(3), "number 2 in line behind job 2, needs 1 free GPU");
  EXPECT_EQ(summary(3), "job 3 waits: " + shown(3));
}

TEST_F(Explain, a_job_that_was_sent_to_a_server_that_went_away_says_so) {
  submit(1);
  settle();
  EXPECT_EQ(state(1), "starting");
  pass(100);
  const std::string text =
      "it was sent to s, which does not answer; if that is gone for good: schedulearn servers lost s";
  EXPECT_EQ(shown(1), text);
}

TEST_F(Explain, a_job_that_waits_for_a_drained_server_says_what_would_help) {
  hello({}, 2, "b", "t");
  logic->drain_server("s", {}, "admin", now, [](const Status&) {});
  logic->on_agent_closed(2, now);
  settle();
  submit(1);
  settle();
  EXPECT_EQ(shown(1), "until s is undrained or t returns: no server is up");
}

TEST_F(Explain, a_job_that_needs_several_drained_servers_says_so) {
  hello({}, 2, "b", "t");
  hello({}, 3, "c", "u");
  for (const char* server : {"s", "t"}) logic->drain_server(server, {}, "admin", now, [](const Status&) {});
  settle();
  Logic::Submission submission;
  submission.spec.command = "true", submission.spec.workdir = "/";
  submission.spec.gpus = {6, 6}, submission.spec.servers = 3;
  logic->submit(std::move(submission), now, [](const Result<JobId>&) {});
  settle();
  EXPECT_TRUE(shown(1).starts_with("until several servers are undrained: ")) << shown(1);
}

TEST_F(Explain, in_a_very_long_line_places_are_told_only_to_who_asks_why) {
  submit_lasting(2, 100);
  for (int i = 0; i < 20'001; ++i) submit(1);
  settle();
  EXPECT_EQ(shown(20'002), "needs 1 free GPU");
  EXPECT_EQ(summary(20'002), "job 20002 waits: number 20001 in line behind job 2, needs 1 free GPU");
}

TEST_F(Explain, a_job_that_a_policy_rejects_fails_with_the_reason) {
  use("edf", {{"late_mode", "reject"}});
  submit_lasting(1, 100, 10);
  const store::JobRow& row = logic->book().find(JobId(1))->row;
  EXPECT_EQ(row.state, "failed");
  EXPECT_EQ(row.failure_kind, "rejected");
  EXPECT_EQ(row.failure_message,
            "rejected by the policy: what it asks for, its deadline included, can no longer be met");
}

using FrozenMemory = test::LogicTest;

TEST_F(FrozenMemory, is_explained_by_the_job_that_holds_it_also_if_its_user_has_suspended_it) {
  wire::Hello one_gpu;
  one_gpu.server = "s", one_gpu.agent_id = "a", one_gpu.call = ++calls;
  one_gpu.gpus.resize(1);
  one_gpu.gpus[0].memory_total_bytes = 10;
  logic->on_agent_message(1, one_gpu, now);
  settle();
  const auto submit_using = [&](std::int64_t bytes) {
    Logic::Submission submission;
    submission.spec.command = "true", submission.spec.workdir = "/";
    submission.spec.freeze = true;
    submission.spec.resources.gpu_memory_bytes = bytes;
    logic->submit(std::move(submission), now, [](const Result<JobId>& job) { ASSERT_TRUE(job.ok()); });
    settle();
  };
  submit_using(6);
  tell(report(1, 1, "running"));
  logic->intervene(JobId(1), *wire::parse_intervention("suspend", ""), "mei", now,
                   [](const auto& done) { ASSERT_TRUE(done.ok()); });
  settle();
  tell(report(1, 1, "frozen"));
  ASSERT_EQ(state(1), "suspended");
  submit_using(5);
  const auto why = wire::to_value(explain_view(*logic, *logic->book().find(JobId(2)), now)).get_object();
  EXPECT_NE(why.at("summary").as_string().find("frozen jobs hold too much of their memory (job 1)"), std::string::npos)
      << why.at("summary").as_string();
}

}  // namespace
}  // namespace sl::controller
