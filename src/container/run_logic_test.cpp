// What the program that runs a container does next, whatever its engine answers. tests/dst has it run in histories.
#include "container/run_logic.h"

#include <gtest/gtest.h>

#include <csignal>

namespace sl::container {
namespace {

const Error silent = unavailable("engine-unreachable", "the container engine does not answer");
using Inspected = Result<std::optional<State>>;

State ours(bool runs) { return {"agent", "1.1.9", runs, runs ? 77 : 0, 0, false}; }

RunLogic created() {
  Order order;
  order.name = "box", order.agent = "agent", order.key = "1.1.9";
  RunLogic logic(order);
  logic.on_done({});
  EXPECT_EQ(logic.next(), Step::create);
  return logic;
}

RunLogic begun() {
  RunLogic logic = created();
  logic.on_done({});
  EXPECT_EQ(logic.next(), Step::start);
  logic.on_done({});
  EXPECT_EQ(logic.next(), Step::inspect_started);
  logic.on_inspected(Inspected(ours(true)));
  EXPECT_EQ(logic.next(), Step::look);
  EXPECT_EQ(logic.pid(), 77);
  logic.on_look(Sight::marked);
  EXPECT_EQ(logic.next(), Step::begin);
  logic.on_done({});
  EXPECT_EQ(logic.next(), Step::wait);
  return logic;
}

void expect_removed(RunLogic& logic) {
  EXPECT_EQ(logic.next(), Step::report);
  logic.on_done({});
  EXPECT_EQ(logic.next(), Step::remove);
  logic.on_done(silent);  // a sweep does it
  EXPECT_EQ(logic.next(), Step::over);
}

TEST(RunLogicTest, a_job_ends_as_its_first_process_has_written_and_is_reported_before_the_engine_is_asked_again) {
  RunLogic logic = begun();
  logic.on_ended("exit 7\n");
  EXPECT_EQ(logic.outcome().exit_code, 7);
  EXPECT_TRUE(logic.outcome().may_have_begun);
  expect_removed(logic);
}

TEST(RunLogicTest, a_job_that_has_begun_cannot_blame_its_server) {
  RunLogic logic = begun();
  logic.on_ended("no_device\n");
  EXPECT_EQ(logic.outcome().failure_kind, "lost");
  RunLogic without_gpu = created();
  without_gpu.on_done({});
  without_gpu.on_done({});
  without_gpu.on_inspected(Inspected(ours(false)));
  ASSERT_EQ(without_gpu.next(), Step::wait);
  without_gpu.on_ended("no_device\n");
  EXPECT_EQ(without_gpu.outcome().failure_kind, "server_setup");
}

TEST(RunLogicTest, a_container_that_is_ours_and_was_not_known_to_be_created_is_made_again_once) {
  RunLogic logic = created();
  logic.on_done(conflict("name-taken", "taken"));
  EXPECT_EQ(logic.next(), Step::inspect_taken);
  logic.on_inspected(Inspected(ours(false)));
  EXPECT_EQ(logic.next(), Step::remove_taken);
  logic.on_done({});
  EXPECT_EQ(logic.next(), Step::create);
  logic.on_done(conflict("name-taken", "taken"));
  EXPECT_EQ(logic.outcome().failure_kind, "lost");
}

TEST(RunLogicTest, a_stranger_s_container_of_the_same_name_is_neither_removed_nor_started) {
  State strange = ours(false);
  strange.key = "1.2.9";
  for (const State& state : {State(), strange}) {
    RunLogic logic = created();
    logic.on_done(conflict("name-taken", "taken"));
    logic.on_inspected(Inspected(state));
    EXPECT_EQ(logic.outcome().failure_kind, "lost");
    logic.on_done({});
    EXPECT_EQ(logic.next(), Step::over);
  }
}

// Its server has no engine for now, and is as good as before for jobs that need none.
TEST(RunLogicTest, an_engine_that_is_silent_or_refuses_is_no_fault_of_the_server_and_the_job_has_not_begun) {
  for (const Error& error : {silent, unavailable("engine-refused", "the container engine says: no")}) {
    RunLogic logic = created();
    logic.on_done({});
    logic.on_done(error);
    EXPECT_EQ(logic.outcome().failure_kind, "lost");
    EXPECT_EQ(logic.outcome().is_refused, error.code == "engine-refused");
    EXPECT_FALSE(logic.outcome().may_have_begun);
    expect_removed(logic);
  }
}

TEST(RunLogicTest, a_job_does_not_begin_where_its_processes_cannot_be_seen_or_the_engine_falls_silent) {
  RunLogic unseen = created();
  unseen.on_done({});
  unseen.on_done({});
  unseen.on_inspected(Inspected(ours(true)));
  unseen.on_look(Sight::unmarked);
  EXPECT_EQ(unseen.outcome().failure_kind, "server_setup");
  expect_removed(unseen);
  RunLogic deaf = created();
  deaf.on_done({});
  deaf.on_done({});
  deaf.on_inspected(Inspected(silent));
  EXPECT_EQ(deaf.outcome().failure_kind, "lost");
  expect_removed(deaf);
}

TEST(RunLogicTest, a_job_that_is_asked_to_end_before_it_begins_does_not_begin) {
  RunLogic logic = created();
  logic.on_done({});
  logic.on_signal(SIGTERM);
  EXPECT_EQ(logic.outcome().signal, SIGTERM);
  EXPECT_FALSE(logic.outcome().may_have_begun);
  EXPECT_TRUE(logic.outcome().asked_to_end);
  expect_removed(logic);
  RunLogic later = begun();
  later.on_signal(SIGTERM);
  EXPECT_EQ(later.next(), Step::wait);
  later.on_ended("exit 0\n");
  EXPECT_TRUE(later.outcome().asked_to_end);
}

// As when the environment is larger than the kernel takes.
TEST(RunLogicTest, a_container_that_ends_before_its_first_process_can_write_is_as_good_as_refused) {
  RunLogic logic = created();
  logic.on_done({});
  logic.on_done({});
  logic.on_inspected(Inspected(ours(false)));
  EXPECT_EQ(logic.next(), Step::wait);
  logic.on_ended("");
  logic.on_inspected(Inspected(ours(false)));
  EXPECT_EQ(logic.outcome().failure_kind, "lost");
  EXPECT_TRUE(logic.outcome().is_refused);
  EXPECT_FALSE(logic.outcome().may_have_begun);
  expect_removed(logic);
}

TEST(RunLogicTest, an_end_that_nobody_has_written_is_never_guessed) {
  RunLogic lost = begun();
  lost.on_ended("begun\n");
  EXPECT_EQ(lost.next(), Step::inspect_ended);
  lost.on_inspected(Inspected(silent));
  EXPECT_EQ(lost.outcome().failure_kind, "lost");
  EXPECT_EQ(lost.outcome().exit_code, std::nullopt);
  EXPECT_FALSE(lost.outcome().is_refused);
  RunLogic hungry = begun();
  hungry.on_ended("begun\n");
  State told = ours(false);
  told.out_of_memory = true;
  hungry.on_inspected(Inspected(told));
  EXPECT_EQ(hungry.outcome().failure_kind, "out_of_memory");
}

TEST(SweepsTest, what_is_left_is_looked_for_at_once_when_it_is_known_and_soon_again_when_an_engine_refuses) {
  Sweeps sweeps;
  const Instant now = Instant::at_seconds(1000);
  EXPECT_TRUE(sweeps.is_due(now));
  sweeps.begin(now);
  EXPECT_FALSE(sweeps.is_due(now));
  sweeps.on_done(true, now);
  EXPECT_FALSE(sweeps.is_due(now + Duration::whole_seconds(599)));
  EXPECT_TRUE(sweeps.is_due(now + Duration::whole_seconds(600)));
  sweeps.ask();
  EXPECT_TRUE(sweeps.is_due(now));
  sweeps.begin(now);
  sweeps.on_done(false, now);
  EXPECT_TRUE(sweeps.is_due(now + Duration::whole_seconds(10)));
}

TEST(SweepsTest, a_container_that_the_engine_creates_after_its_program_has_died_is_found_by_a_second_look) {
  Sweeps sweeps;
  Instant now = Instant::at_seconds(1000);
  sweeps.ask();
  sweeps.begin(now);
  sweeps.on_done(true, now);
  EXPECT_FALSE(sweeps.is_due(now + Duration::whole_seconds(9)));
  now = now + Duration::whole_seconds(10);
  EXPECT_TRUE(sweeps.is_due(now));
  sweeps.begin(now);
  sweeps.on_done(true, now);
  EXPECT_FALSE(sweeps.is_due(now + Duration::whole_seconds(599)));
}

}  // namespace
}  // namespace sl::container
