// How good guesses of run times and predicted speeds are on recorded jobs and published speeds. docs/guide/estimates.md
// states the goals and the figures.
#include <gtest/gtest.h>

#include "study/run_time_scores.h"
#include "study/speed_scores.h"
#include "trace/trace.h"

namespace sl::study {
namespace {

// The first 6,000 jobs of the log NASA-iPSC-1993-3.1-cln of the Parallel Workloads Archive; thanks to Bill Nitzberg, who
// gave the log, and Dror Feitelson, who keeps the archive.
TEST(RunTimeScores, beat_both_yardsticks_and_their_range_keeps_what_it_promises) {
  const auto trace = trace::read_trace(SCHEDULEARN_FIXTURES "/nasa_ipsc_1993_start.csv.gz", {});
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  const ScoreTable table = score_run_times(*trace);
  const Score& ours = table.score("", like_jobs);
  EXPECT_GE(ours.questions, 2900U);  // a few jobs last no time
  EXPECT_LT(ours.error, .8 * table.score("", user_last).error);
  EXPECT_LT(ours.error, .5 * table.score("", user_mean).error);
  EXPECT_GE(*ours.covers, .75);
  EXPECT_LE(*ours.covers, .85);
}

// Half of the jobs are asked about, and nothing is known to the first one but what has ended before it.
TEST(RunTimeScores, know_only_jobs_that_have_ended) {
  const auto trace = trace::parse_trace(
      "job_id,submit_time_s,gpus,duration_s,user\n1,0,1,100,a\n2,50,1,100,a\n3,120,1,100,a\n4,121,1,100,a\n", {});
  ASSERT_TRUE(trace.ok());
  EXPECT_EQ(score_run_times(*trace, 0).score("", like_jobs).unanswered, 2U);
  EXPECT_EQ(score_run_times(*trace).score("", like_jobs).unanswered, 0U);
  EXPECT_EQ(score_run_times(*trace).score("", like_jobs).error, 0);
}

TEST(RunTimeScores, of_jobs_of_which_nothing_is_known_have_no_range) {
  const auto trace = trace::parse_trace("job_id,submit_time_s,gpus,duration_s\n1,0,1,100\n", {});
  ASSERT_TRUE(trace.ok());
  const Score score = score_run_times(*trace, 0).score("", like_jobs);
  EXPECT_EQ(score.unanswered, 1U);
  EXPECT_FALSE(score.covers);
}

TEST(SpeedScores, are_far_better_than_linear_scaling) {
  const ScoreTable table = score_speeds();
  for (const std::string when : {"Gavel", "others"}) {
    SCOPED_TRACE(when);
    const Score& ours = table.score(when, by_speed_model);
    EXPECT_GE(ours.questions, 15U);
    EXPECT_LT(ours.error, .1);
    EXPECT_LT(ours.error, .25 * table.score(when, linear_speed).error);
    EXPECT_GE(*ours.covers, .75);
    EXPECT_LE(*ours.covers, .9);
  }
}

}  // namespace
}  // namespace sl::study
