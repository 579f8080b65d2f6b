#include "controller/gang.h"

#include <gtest/gtest.h>

namespace sl::controller {
namespace {

wire::AttemptReport report(const char* state) {
  wire::AttemptReport report;
  report.state = state;
  report.port = 7000;
  if (report.state == "running" || report.state == "exited") report.started_us = 1;
  return report;
}

wire::AttemptReport ended(std::optional<int> exit_code, std::int64_t at_us = 0) {
  wire::AttemptReport end = report("exited");
  end.exit_code = exit_code;
  end.ended_us = at_us;
  return end;
}

wire::AttemptReport stopped(const char* by) {
  wire::AttemptReport end = ended(std::nullopt);
  end.signal = 15;
  end.stopped_by = by;
  return end;
}

TEST(Gang, starts_once_all_parts_are_prepared_and_runs_once_all_run) {
  Gang gang(3);
  gang.on_report(0, report("prepared"));
  gang.on_report(2, report("prepared"));
  gang.on_report(1, report("starting"));
  EXPECT_FALSE(gang.is_ready());
  gang.on_report(1, report("prepared"));
  EXPECT_TRUE(gang.is_ready());
  EXPECT_FALSE(gang.has_begun());
  gang.launch();
  EXPECT_FALSE(gang.is_ready()) << "it starts once";
  for (const int rank : {2, 0}) gang.on_report(rank, report("running"));
  EXPECT_FALSE(gang.has_started());
  gang.on_report(1, ended(0));
  EXPECT_TRUE(gang.has_started()) << "that part was quick";
  EXPECT_FALSE(gang.is_broken() || gang.has_ended());
  gang.on_report(0, ended(0)), gang.on_report(2, ended(0));
  EXPECT_TRUE(gang.has_ended());
  EXPECT_EQ(gang.outcome().exit_code, 0);
}

TEST(Gang, one_part_that_fails_or_is_lost_breaks_it) {
  Gang failed(2), lost(2), unprepared(2);
  failed.on_report(1, ended(3));
  EXPECT_TRUE(failed.is_broken());
  EXPECT_FALSE(failed.has_ended());
  lost.lose(0);
  EXPECT_TRUE(lost.is_broken());
  unprepared.lose(0);
  unprepared.on_report(1, report("prepared")), unprepared.on_report(0, report("prepared"));
  EXPECT_FALSE(unprepared.is_ready());
}

// Which end is the job's: a failure of its own before a lost part before one that was stopped with the others; of two
// failures the first.
TEST(Gang, the_end_that_says_most_is_that_of_the_job) {
  Gang gang(6);
  wire::AttemptReport obeyed = ended(0);  // asked to stop, it ended well
  obeyed.stopped_by = "order";
  gang.on_report(5, obeyed);
  EXPECT_EQ(gang.rank_of_failure(), 5);
  gang.on_report(0, stopped("order"));
  EXPECT_EQ(gang.rank_of_failure(), 0);
  gang.on_report(1, stopped("lease"));
  EXPECT_EQ(gang.rank_of_failure(), 1);
  gang.lose(2);
  EXPECT_EQ(gang.rank_of_failure(), 2);
  gang.on_report(3, ended(1, 200));
  EXPECT_EQ(gang.rank_of_failure(), 3);
  gang.on_report(4, ended(7, 100));
  ASSERT_TRUE(gang.has_ended());
  EXPECT_EQ(gang.outcome().exit_code, 7);
}

TEST(Gang, the_end_that_was_reported_counts_more_than_a_loss_that_was_assumed) {
  Gang gang(2);
  gang.lose(0);
  gang.on_report(0, ended(4));
  gang.lose(0);
  gang.on_report(1, stopped("order"));
  EXPECT_EQ(gang.outcome().exit_code, 4);
}

// A controller that was restarted hears of parts that run and of parts that only got ready.
TEST(Gang, a_part_that_cannot_follow_the_others_breaks_it) {
  Gang gang(3);
  gang.on_report(0, report("running"));
  EXPECT_TRUE(gang.has_begun());
  EXPECT_FALSE(gang.is_broken()) << "nothing is known of the others yet";
  gang.on_report(1, report("prepared"));
  EXPECT_TRUE(gang.is_broken());
  Gang whole(2);
  whole.on_report(0, report("running")), whole.on_report(1, report("running"));
  EXPECT_TRUE(whole.has_started());
  EXPECT_FALSE(whole.is_broken());
}

TEST(Gang, a_part_that_its_agent_does_not_have_is_lost_once_another_is_known_to_have_begun) {
  Gang gang(2);
  gang.miss(0);
  EXPECT_FALSE(gang.is_broken()) << "it is asked to begin";
  gang.on_report(1, report("running"));
  EXPECT_TRUE(gang.is_broken());
  gang.on_report(1, ended(0));
  EXPECT_TRUE(gang.has_ended());
  Gang late(2);
  late.miss(0);
  late.on_report(0, report("starting")), late.on_report(1, report("running"));
  EXPECT_FALSE(late.is_broken()) << "its agent has it by now";
}

}  // namespace
}  // namespace sl::controller
