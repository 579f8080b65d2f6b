// What cannot be written: refused as a whole, or kept.
#include "controller/logic_test.h"

namespace sl::controller {
namespace {

using FullDiskTest = test::LogicTest;

TEST_F(FullDiskTest, a_submission_is_refused_and_nothing_of_it_stays) {
  hello();
  submit(1);
  logic->turn(now);
  commit(unavailable("disk-full", "full"));
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].error().code, "disk-full");
  submit(1);  // while the disk is full: refused at once
  EXPECT_EQ(answers[0].error().code, "disk-full");
  now = now + Duration::whole_seconds(2);
  settle();  // there is room again
  EXPECT_TRUE(world.jobs.empty());
  EXPECT_TRUE(world.all<wire::StartAttempt>().empty());
  EXPECT_EQ(logic->core().ledger().gpus_in_use(), 0);
  submit(1);
  settle();
  EXPECT_TRUE(answers[0].ok());
  EXPECT_EQ(world.jobs.size(), 1u);
}

TEST_F(FullDiskTest, changes_are_refused_and_the_one_that_was_being_written_is_kept) {
  hello();
  submit(1), submit(1), settle();
  const std::size_t events = world.events.size();
  std::vector<Result<JobId>> changed;
  const auto note = [&](const Result<JobId>& done) { changed.push_back(done); };
  logic->cancel(JobId(1), "mei", now, note);
  logic->turn(now);
  commit(unavailable("disk-full", "full"));
  ASSERT_EQ(changed.size(), 1u);
  EXPECT_EQ(changed[0].error().notes.size(), 1u) << "it is kept";
  logic->cancel(JobId(2), "mei", now, note);
  logic->edit(JobId(2), {.priority = 7}, "mei", now, note);
  logic->intervene(JobId(2), {.verb = "suspend"}, "mei", now, note);
  logic->drain_server("s", {}, "mei", now, [&](const Status& status) { changed.emplace_back(status.error()); });
  ASSERT_EQ(changed.size(), 5u) << "at once";
  for (const auto& each : changed) EXPECT_EQ(each.error().code, "disk-full");
  for (std::size_t i = 1; i < changed.size(); ++i) EXPECT_TRUE(changed[i].error().notes.empty());
  pass(2);
  EXPECT_EQ(state(1), "stopping");
  EXPECT_EQ(state(2), "starting");
  EXPECT_EQ(std::ranges::count(world.events, "job.cancel_requested", &store::EventRow::kind), 1);
  EXPECT_GT(world.events.size(), events);
}

}  // namespace
}  // namespace sl::controller
