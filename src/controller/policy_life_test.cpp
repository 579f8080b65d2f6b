// Changes of policy, and users' own policies: made while the queue continues, failing, replaced.
#include <algorithm>

#include "controller/logic_test.h"

namespace sl::controller {
namespace {

using test::LogicTest;

TEST_F(LogicTest, a_change_of_policy_is_told_when_it_is_durable_with_who_and_when_and_with_what) {
  EXPECT_EQ(use("FIFO-first-fit", {{"SkipLimit", "7"}}), "ok");
  EXPECT_EQ(history(), "fifo by default, fifo_first_fit by mei");
  EXPECT_EQ(logic->policies().in_force().parameters_json, R"({"skip_limit":"7"})");
  EXPECT_EQ(logic->policies().in_force().since_us, now.us);
  ASSERT_EQ(world.policies.size(), 2u) << "the first one too: else a restart forgets what undo goes back to";
  const auto event = std::find_if(world.events.begin(), world.events.end(),
                                  [](const auto& e) { return e.kind == "policy.changed" && e.actor_type == "user"; });
  ASSERT_NE(event, world.events.end());
  EXPECT_EQ(event->from + ">" + event->to + " by " + event->actor_name, "fifo>fifo_first_fit by mei");
  EXPECT_EQ(event->data_json, R"({"skip_limit":"7"})");
}

TEST_F(LogicTest, undo_brings_the_policy_before_back_with_its_parameters_and_can_be_undone) {
  use("fifo_first_fit", {{"skip_limit", "7"}});
  use("edf");
  pass(599);
  EXPECT_EQ(undo(), "ok");
  EXPECT_EQ(logic->policies().in_force().name, "fifo_first_fit");
  EXPECT_EQ(logic->policies().in_force().parameters_json, R"({"skip_limit":"7"})");
  EXPECT_EQ(undo(), "ok");
  EXPECT_EQ(history(), "fifo by default, fifo_first_fit by mei, edf by mei, fifo_first_fit by ali, edf by ali");
}

TEST_F(LogicTest, setting_what_is_in_force_makes_no_entry_but_another_value_of_a_parameter_does) {
  use("fifo_first_fit", {{"skip_limit", "7"}});
  EXPECT_EQ(use("FIFO-First-Fit", {{"SkipLimit", "7"}}), "ok");
  EXPECT_EQ(history(), "fifo by default, fifo_first_fit by mei");
  EXPECT_TRUE(logic->policies().is_in_force({"fifo_first_fit", {{"skip_limit", "7"}}}));
  EXPECT_FALSE(logic->policies().is_in_force({"fifo_first_fit"}));
  use("fifo_first_fit", {{"skip_limit", "100"}});
  EXPECT_TRUE(logic->policies().is_in_force({"fifo_first_fit"})) << "that is the default";
  EXPECT_EQ(history(), "fifo by default, fifo_first_fit by mei, fifo_first_fit by mei");
  EXPECT_EQ(undo(), "ok");
  EXPECT_EQ(logic->policies().in_force().reason, "undo of fifo_first_fit");
}

TEST_F(LogicTest, undo_is_refused_where_there_is_nothing_before_or_the_change_is_ten_minutes_old) {
  EXPECT_EQ(undo(), "nothing-to-undo");
  EXPECT_TRUE(logic->policies().undo_until().is_never());
  use("edf");
  EXPECT_EQ(logic->policies().undo_until(), now + Duration::whole_seconds(600));
  pass(601);
  EXPECT_EQ(undo(), "undo-too-late");
  EXPECT_EQ(history(), "fifo by default, edf by mei");
}

TEST_F(LogicTest, the_history_of_policies_survives_a_restart_and_so_does_undo) {
  use("srtf", {{"min_quantum_s", "5"}});
  use("edf");
  restart();
  EXPECT_EQ(history(), "fifo by default, srtf by mei, edf by mei");
  EXPECT_EQ(undo(), "ok");
  EXPECT_EQ(logic->policies().in_force().name + logic->policies().in_force().parameters_json,
            R"(srtf{"min_quantum_s":"5"})");
}

TEST_F(LogicTest, an_unknown_policy_or_parameter_changes_nothing) {
  EXPECT_EQ(use("edff"), "unknown-policy");
  EXPECT_EQ(use("edf", {{"nix", "1"}}), "unknown-parameter");
  EXPECT_EQ(use("edf", {{"late_mode", "kep"}}), "bad-parameter");
  EXPECT_EQ(history(), "fifo by default");
  EXPECT_EQ(world.policies.size(), 1U) << "the first";
}

TEST_F(LogicTest, the_first_policy_is_in_force_since_the_first_start) {
  settle();
  const std::int64_t since = logic->policies().in_force().since_us;
  now = now + Duration::whole_seconds(60);
  restart();
  EXPECT_EQ(logic->policies().in_force().since_us, since);
  EXPECT_EQ(history(), "fifo by default");
}

class PlannedPolicyTest : public LogicTest {
 protected:
  std::string plan(const std::string& policy, std::int64_t in_s, const GivenParameters& parameters = {}) {
    std::string said = "nothing";
    logic->plan_policy({policy, parameters}, now + Duration::whole_seconds(in_s), "mei", now,
                       [&](const Status& status) { said = status.ok() ? "ok" : status.error().code; });
    settle();
    return said;
  }
  std::string call_off() {
    std::string said = "nothing";
    logic->call_off_policy("ali", now, [&](const Status& status) { said = status.ok() ? "ok" : status.error().code; });
    settle();
    return said;
  }
  std::string planned() const {
    const auto& planned = logic->policies().planned();
    return planned ? planned->change.name + " by " + planned->by : "nothing";
  }
  std::vector<std::string> events() const {
    std::vector<std::string> told;
    for (const store::EventRow& event : world.events) {
      if (event.kind.starts_with("policy.")) told.push_back(event.kind + " " + event.to + " by " + event.actor_name);
    }
    return told;
  }
};

TEST_F(PlannedPolicyTest, a_change_takes_effect_at_its_time_and_not_before_in_the_name_of_who_planned_it) {
  EXPECT_EQ(plan("FIFO-first-fit", 60, {{"SkipLimit", "7"}}), "ok");
  EXPECT_EQ(planned(), "fifo_first_fit by mei");
  EXPECT_EQ(logic->next_wake(), now + Duration::whole_seconds(60));
  pass(59);
  EXPECT_EQ(history(), "fifo by default");
  pass(1);
  EXPECT_EQ(history(), "fifo by default, fifo_first_fit by mei");
  EXPECT_EQ(logic->policies().in_force().parameters_json, R"({"skip_limit":"7"})");
  EXPECT_TRUE(logic->policies().in_force().reason.starts_with("planned at "));
  EXPECT_EQ(planned(), "nothing");
  EXPECT_EQ(world.settings.at("policy_planned"), "");
  EXPECT_EQ(events(),
            (std::vector<std::string>{"policy.planned fifo_first_fit by mei", "policy.changed fifo_first_fit by mei"}));
  EXPECT_EQ(undo(), "ok") << "it is a change like any other";
  EXPECT_EQ(logic->policies().in_force().name, "fifo");
}

TEST_F(PlannedPolicyTest, it_survives_a_restart_and_happens_at_once_if_its_time_has_passed_meanwhile) {
  plan("srtf", 60, {{"min_quantum_s", "5"}});
  restart();
  EXPECT_EQ(planned(), "srtf by mei");
  now = now + Duration::whole_seconds(3600);
  restart();
  EXPECT_EQ(history(), "fifo by default, srtf by mei");
  EXPECT_EQ(logic->policies().in_force().parameters_json, R"({"min_quantum_s":"5"})");
  restart();
  EXPECT_EQ(history(), "fifo by default, srtf by mei") << "it happens once";
}

TEST_F(PlannedPolicyTest, the_last_plan_counts_and_can_be_called_off) {
  plan("srtf", 60);
  plan("edf", 90);
  EXPECT_EQ(planned(), "edf by mei");
  EXPECT_EQ(call_off(), "ok");
  EXPECT_EQ(call_off(), "nothing-planned");
  restart();
  EXPECT_EQ(planned(), "nothing");
  pass(200);
  EXPECT_EQ(history(), "fifo by default");
  EXPECT_EQ(events().back(), "policy.called_off edf by ali");
}

TEST_F(PlannedPolicyTest, what_is_chosen_in_the_meantime_changes_nothing_about_it) {
  plan("srtf", 60);
  use("edf");
  EXPECT_EQ(planned(), "srtf by mei");
  pass(60);
  EXPECT_EQ(history(), "fifo by default, edf by mei, srtf by mei");
}

TEST_F(PlannedPolicyTest, what_cannot_be_is_refused_at_once_and_plans_nothing) {
  EXPECT_EQ(plan("srtf", 0), "bad-time");
  EXPECT_EQ(plan("srtf", 400LL * 86'400), "bad-time");
  EXPECT_EQ(plan("srtff", 60), "unknown-policy");
  EXPECT_EQ(plan("edf", 60, {{"late_mode", "kep"}}), "bad-parameter");
  EXPECT_EQ(planned(), "nothing");
  EXPECT_TRUE(events().empty());
}

TEST_F(PlannedPolicyTest, waits_while_the_store_refuses) {
  plan("srtf", 60);
  submit(1);
  logic->turn(now);
  commit(unavailable("disk-full", "the disk is full"));
  now = now + Duration::whole_seconds(100);
  EXPECT_TRUE(logic->policies().next_plan().is_never());
  settle();
  settle();
  EXPECT_EQ(history(), "fifo by default, srtf by mei");
}

// Stands for a policy that a user wrote: it fails once a job waits.
class Mortal : public Policy {
 public:
  void attach(const Snapshot&) override {}
  void notice(const Snapshot&, NoticeKind, JobIndex) override {}
  void decide(const Snapshot& snapshot, Plan&) override { failed_ = failed_ || !snapshot.waiting.empty(); }
  std::optional<Error> failure() const override {
    return failed_ ? std::optional(invalid("policy-exception", "mine.py:3: oh no")) : std::nullopt;
  }

 private:
  bool failed_ = false;
};

// Starts whatever waits and preempts whatever runs.
class Restless : public Policy {
 public:
  void attach(const Snapshot&) override {}
  void notice(const Snapshot&, NoticeKind, JobIndex) override {}
  void decide(const Snapshot& snapshot, Plan& plan) override {
    for (const JobIndex job : snapshot.waiting) plan.start(job, Allocation(ServerIndex(0), GpuSet::first(1)));
    for (const JobIndex job : snapshot.active) {
      if (snapshot.job(job).state == JobState::running) plan.preempt(job);
    }
    plan.wake_at(snapshot.now + Duration{100'000});
  }
};

class OwnPolicyTest : public LogicTest {
 protected:
  OwnPolicyTest() { hello(); }

  // What a source becomes: one that begins with "bad" cannot be read, "mortal" fails, anything else is FIFO.
  static Result<MadePolicy> made_of(const PolicyChange& change) {
    if (change.source.starts_with("bad")) return invalid("policy-exception", "mine.py:1: it cannot be read");
    PolicyInfo info;
    info.name = change.name;
    if (change.source.starts_with("mortal")) return MadePolicy{info, std::make_unique<Mortal>()};
    if (change.source.starts_with("restless")) return MadePolicy{info, std::make_unique<Restless>()};
    return MadePolicy{info, find_policy("fifo")->make(*parse_parameters(find_policy("fifo")->info, {}))};
  }
  // Only requests it; the answer goes to said[name].
  void ask_for(const std::string& name, const std::string& source) {
    logic->set_policy({name, {}, source}, "mei", now,
                      [this, name](const Status& s) { said[name] = s.ok() ? "ok" : s.error().code; });
    settle();
  }
  void make_first() {
    ASSERT_FALSE(world.wanted.empty()) << "no policy was requested";
    auto made = made_of(world.wanted.front());
    world.wanted.pop_front();
    logic->on_policy_made(std::move(made), now);
    settle();
  }
  std::string own(const std::string& name, const std::string& source) {
    ask_for(name, source);
    while (!world.wanted.empty()) make_first();
    return said[name];
  }
  // good.py decides; mine.py becomes current, and its first decision is a fault.
  void fail_after_one_that_works() {
    own("good.py", "fine");
    own("mine.py", "mortal");
    submit(1);
    settle();
  }
  // How often, at most 150 times, a job is interrupted that runs so long each time.
  int interrupted_after(std::int64_t ms) {
    Logic::Submission submission;
    submission.spec.command = "true";
    submission.spec.workdir = "/";
    submission.spec.checkpoint.dir = "c";
    logic->submit(std::move(submission), now, [](const Result<JobId>&) {});
    int attempt = 0;
    while (attempt < 150 && logic->policies().in_force().name == "mine.py") {
      pass(1);  // it is started
      tell(report(1, ++attempt, "running"));
      now = now + Duration{ms * 1'000};
      keep_session();
      wire::AttemptReport end = report(1, attempt, "exited", 143);
      end.started_us = 1, end.stopped_by = "order";
      tell(end);
    }
    return attempt;
  }
  std::int64_t failures() const {
    return std::count_if(world.events.begin(), world.events.end(), [](const auto& event) {
      return event.kind == "policy.failed" && event.text == "mine.py:3: oh no";
    });
  }

  std::map<std::string, std::string> said;
};

TEST_F(OwnPolicyTest, one_that_only_interrupts_is_replaced_and_the_reason_is_said) {
  own("mine.py", "restless");
  EXPECT_EQ(interrupted_after(500), 101);
  EXPECT_EQ(logic->policies().in_force().name, "fifo");
  EXPECT_EQ(logic->policies().in_force().reason,
            "mine.py failed: it preempted job 1 100 times in a row before any of its work was done");
  ASSERT_TRUE(logic->policies().failure());
  EXPECT_EQ(logic->policies().failure()->code, "policy-stands-still");
}

TEST_F(OwnPolicyTest, one_that_interrupts_jobs_that_get_on_is_kept) {
  own("mine.py", "restless");
  EXPECT_EQ(interrupted_after(2'000), 150);
  EXPECT_EQ(logic->policies().in_force().name, "mine.py");
}

TEST_F(OwnPolicyTest, while_one_is_being_made_the_queue_goes_on) {
  ask_for("mine.py", "fine");
  submit(1);
  settle();
  EXPECT_EQ(state(1), "starting");
  EXPECT_EQ(logic->policies().in_force().name + said["mine.py"], "fifo") << "there was no answer";
  make_first();
  EXPECT_EQ(said["mine.py"], "ok");
  EXPECT_EQ(history(), "fifo by default, mine.py by mei");
}

TEST_F(OwnPolicyTest, one_that_cannot_be_made_or_has_a_bad_name_changes_nothing) {
  EXPECT_EQ(own("mine.py", "bad"), "policy-exception");
  EXPECT_EQ(own("mine py", "fine"), "bad-policy-name");
  EXPECT_EQ(history(), "fifo by default");
  EXPECT_EQ(world.policies.size(), 1U) << "the first";
}

TEST_F(OwnPolicyTest, two_at_once_are_adopted_in_the_order_asked) {
  ask_for("one.py", "fine");
  ask_for("two.py", "fine");
  ask_for("three.py", "bad");
  make_first();
  EXPECT_EQ(said["one.py"] + said["two.py"], "ok");
  make_first();
  make_first();
  EXPECT_EQ(said["two.py"] + " " + said["three.py"], "ok policy-exception");
  EXPECT_EQ(history(), "fifo by default, one.py by mei, two.py by mei");
}

TEST_F(OwnPolicyTest, one_that_was_overtaken_by_a_later_change_has_no_effect) {
  ask_for("mine.py", "fine");
  EXPECT_EQ(use("edf"), "ok");
  ask_for("later.py", "fine");
  make_first();
  EXPECT_EQ(said["mine.py"], "policy-overtaken");
  EXPECT_EQ(history(), "fifo by default, edf by mei");
  make_first();
  EXPECT_EQ(history(), "fifo by default, edf by mei, later.py by mei");
}

TEST_F(OwnPolicyTest, only_so_many_are_read_at_once) {
  for (int i = 0; i < 4; ++i) ask_for("mine.py", "fine");
  ask_for("fifth.py", "fine");
  EXPECT_EQ(said["fifth.py"], "policies-busy");
  make_first();
  ask_for("sixth.py", "fine");
  while (!world.wanted.empty()) make_first();
  EXPECT_EQ(said["sixth.py"], "ok");
}

TEST_F(OwnPolicyTest, undo_brings_it_back_when_it_has_been_made_again) {
  own("mine.py", "fine");
  use("edf");
  logic->undo_policy("ali", now, [this](const Status& s) { said["undo"] = s.ok() ? "ok" : s.error().code; });
  settle();
  EXPECT_EQ(logic->policies().in_force().name + said["undo"], "edf") << "it is being made";
  make_first();
  EXPECT_EQ(said["undo"], "ok");
  EXPECT_EQ(history(), "fifo by default, mine.py by mei, edf by mei, mine.py by ali");
}

TEST_F(OwnPolicyTest, after_a_fault_a_fresh_one_goes_on) {
  own("mine.py", "mortal");
  submit(1);
  settle();
  EXPECT_EQ(state(1), "pending");
  EXPECT_EQ(world.wanted.size(), 1u) << "requested once, however many turns there are";
  world.wanted.pop_front();
  logic->on_policy_made(made_of({"mine.py", {}, "fine"}), now);
  settle();
  EXPECT_EQ(state(1), "starting") << "it is asked as soon as it is ready";
  EXPECT_EQ(history(), "fifo by default, mine.py by mei");
  EXPECT_FALSE(logic->policies().failure());
}

TEST_F(OwnPolicyTest, after_three_faults_within_ten_minutes_the_last_one_that_works_goes_on) {
  use("fifo_first_fit", {{"skip_limit", "7"}});
  own("mine.py", "mortal");
  submit(1);
  settle();
  make_first();
  pass(601);
  make_first();
  make_first();
  EXPECT_EQ(logic->policies().in_force().name, "mine.py") << "two of the four faults are long past";
  make_first();
  EXPECT_TRUE(world.wanted.empty());
  EXPECT_EQ(history(), "fifo by default, fifo_first_fit by mei, mine.py by mei, fifo_first_fit by schedulearn");
  EXPECT_EQ(logic->policies().in_force().parameters_json, R"({"skip_limit":"7"})");
  ASSERT_TRUE(logic->policies().failure());
  EXPECT_EQ(logic->policies().failure()->text, "mine.py:3: oh no");
  EXPECT_EQ(failures(), 1);
  use("edf");
  EXPECT_FALSE(logic->policies().failure());
}

TEST_F(OwnPolicyTest, a_fresh_one_that_cannot_be_made_is_a_fault_too) {
  own("mine.py", "mortal");
  submit(1);
  settle();
  for (int i = 0; i < 2; ++i) {
    world.wanted.pop_front();
    logic->on_policy_made(made_of({"mine.py", {}, "bad"}), now);
    settle();
  }
  EXPECT_EQ(history(), "fifo by default, mine.py by mei, fifo by schedulearn");
  EXPECT_EQ(logic->policies().failure()->text, "mine.py:1: it cannot be read");
  EXPECT_EQ(state(1), "starting") << "in the same turn";
}

TEST_F(OwnPolicyTest, the_last_one_that_works_may_be_ones_own_and_none_is_tried_twice) {
  own("good.py", "fine");
  own("mine.py", "mortal");
  own("other.py", "mortal too");
  submit(1);
  settle();
  while (!world.wanted.empty()) make_first();
  EXPECT_EQ(history(),
            "fifo by default, good.py by mei, mine.py by mei, other.py by mei, mine.py by schedulearn, good.py by "
            "schedulearn");
  EXPECT_EQ(failures(), 2);
  EXPECT_EQ(state(1), "starting");
}

TEST_F(OwnPolicyTest, one_in_the_history_that_can_no_longer_be_made_is_passed_over) {
  fail_after_one_that_works();
  make_first();
  make_first();
  ASSERT_EQ(world.wanted.front().name, "good.py");
  world.wanted.pop_front();
  logic->on_policy_made(made_of({"good.py", {}, "bad"}), now);
  settle();
  EXPECT_EQ(history(), "fifo by default, good.py by mei, mine.py by mei, fifo by schedulearn");
  EXPECT_EQ(logic->policies().failure()->text, "mine.py:3: oh no");
  EXPECT_EQ(logic->policies().in_force().reason, "mine.py failed: mine.py:3: oh no");
}

TEST_F(OwnPolicyTest, who_chooses_a_policy_meanwhile_has_the_last_word_over_its_replacement) {
  fail_after_one_that_works();
  EXPECT_EQ(use("edf"), "ok");
  EXPECT_EQ(state(1), "starting");
  make_first();  // the fresh mine.py comes too late
  EXPECT_EQ(history(), "fifo by default, good.py by mei, mine.py by mei, edf by mei");
  fail_after_one_that_works();
  make_first();
  make_first();
  EXPECT_EQ(use("srtf"), "ok");
  make_first();  // so does good.py
  EXPECT_EQ(logic->policies().in_force().name, "srtf");
  EXPECT_TRUE(world.wanted.empty());
}

TEST_F(OwnPolicyTest, it_survives_a_restart_and_nothing_is_started_before_it_is_made) {
  own("mine.py", "fine");
  restart();
  hello();
  EXPECT_EQ(logic->policies().in_force().name + " " + logic->policies().in_force().source, "mine.py fine");
  EXPECT_EQ(logic->policies().info().name, "mine.py");
  submit(1);
  settle();
  EXPECT_EQ(state(1), "pending");
  make_first();
  EXPECT_EQ(state(1), "starting");
  EXPECT_EQ(history(), "fifo by default, mine.py by mei");
}

TEST_F(OwnPolicyTest, one_that_is_planned_is_made_once_to_see_that_it_can_be_and_again_at_its_time) {
  std::string answer;
  const auto plan = [&](const std::string& source) {
    logic->plan_policy({"mine.py", {}, source}, now + Duration::whole_seconds(60), "mei", now,
                       [&](const Status& status) { answer = status.ok() ? "ok" : status.error().code; });
    settle();
    make_first();
  };
  plan("bad");
  EXPECT_EQ(answer, "policy-exception");
  EXPECT_FALSE(logic->policies().planned());
  plan("fine");
  EXPECT_EQ(answer, "ok");
  EXPECT_EQ(history(), "fifo by default");
  restart();
  hello();
  pass(60);
  make_first();
  EXPECT_EQ(history(), "fifo by default, mine.py by mei");
  EXPECT_EQ(logic->policies().in_force().source, "fine");
}

TEST_F(OwnPolicyTest, a_planned_one_that_can_no_longer_be_made_leaves_an_event_and_the_policy) {
  logic->plan_policy({"mine.py", {}, "fine"}, now + Duration::whole_seconds(60), "mei", now, [](const Status&) {});
  settle();
  make_first();
  pass(60);
  logic->on_policy_made(unavailable("no-python", "there is no Python"), now);
  settle();
  EXPECT_EQ(history(), "fifo by default");
  EXPECT_EQ(world.events.back().kind + ": " + world.events.back().text,
            "policy.failed: it was planned: there is no Python");
}

TEST_F(OwnPolicyTest, after_a_restart_one_that_can_no_longer_be_made_is_replaced) {
  own("mine.py", "fine");
  restart();
  for (int i = 0; i < 3; ++i) logic->on_policy_made(unavailable("no-python", "there is no Python"), now);
  settle();
  EXPECT_EQ(logic->policies().in_force().name, "fifo");
  EXPECT_EQ(logic->policies().failure()->text, "there is no Python");
}

// Starts jobs on the first GPU and wants to preempt every one that runs.
class Impatient : public Policy {
  void attach(const Snapshot&) override {}
  void notice(const Snapshot&, NoticeKind, JobIndex) override {}
  void decide(const Snapshot& snapshot, Plan& plan) override {
    for (const JobIndex job : snapshot.active) plan.preempt(job);
    for (const JobIndex job : snapshot.waiting) plan.start(job, Allocation(ServerIndex(0), GpuSet::only(0)));
  }
};

TEST_F(LogicTest, a_decision_that_is_refused_again_and_again_is_recorded_once) {
  hello();
  logic->set_policy({.name = "impatient.py", .source = "x"}, "u", now, [](const Status&) {});
  logic->on_policy_made(MadePolicy{{.name = "impatient.py"}, std::make_unique<Impatient>()}, now);
  submit(1);
  settle();
  tell(report(1, 1, "running"));
  for (int i = 0; i < 10; ++i) {
    submit(1);
    for (int pings = 0; pings < 12; ++pings) {
      logic->on_agent_message(1, wire::Ping{now.us, reports}, now);
      pass(10);
    }
  }
  const auto refused = std::count_if(world.events.begin(), world.events.end(), [](const auto& event) {
    return event.kind == "decision.refused" && event.job_id == 1;
  });
  EXPECT_GE(logic->core().refusals(Refusal::not_interruptible), 2u) << "else this test shows nothing";
  EXPECT_EQ(refused, 1);
}

}  // namespace
}  // namespace sl::controller
