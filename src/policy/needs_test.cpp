// What a policy assumes about jobs that lack a fact: counts and sentences.
#include "policy/needs.h"

#include <gtest/gtest.h>

namespace sl {
namespace {

const std::vector<Need> deadline_and_checkpoint = {{Fact::deadline, "they go last", ""},
                                                   {Fact::checkpoint, "they are left alone", ""}};

JobRequest job(bool deadline, Capability capability) {
  JobRequest request;
  if (deadline) request.deadline = Instant::at_seconds(100);
  request.capability = capability;
  return request;
}

TEST(Needs, every_need_that_some_jobs_do_not_meet_is_told_with_how_many_and_what_becomes_of_them) {
  MissingFacts missing;
  for (int i = 0; i < 11; ++i) missing.count(job(false, Capability::checkpoint));
  missing.count(job(false, Capability::none));
  EXPECT_EQ(missing.sentences(deadline_and_checkpoint, "waiting"),
            (std::vector<std::string>{"12 of 12 waiting jobs have no deadline: they go last",
                                      "1 of 12 waiting jobs cannot stop at a checkpoint: they are left alone"}));
}

TEST(Needs, nothing_is_told_where_all_jobs_give_what_is_needed_or_there_are_none) {
  MissingFacts missing;
  EXPECT_TRUE(missing.sentences(deadline_and_checkpoint, "waiting").empty());
  missing.count(job(true, Capability::checkpoint));
  EXPECT_TRUE(missing.sentences(deadline_and_checkpoint, "waiting").empty());
}

TEST(Needs, the_general_form_names_the_fact_and_what_happens_without_it) {
  EXPECT_EQ(to_string(Need{Fact::deadline, "they go last", ""}), "deadlines (else they go last)");
  EXPECT_EQ(to_string(Need{Fact::none, "all count alike", "users"}), "users (else all count alike)");
  EXPECT_EQ(to_string(nothing_needed()), "nothing besides the number of GPUs");
}

TEST(Needs, a_time_limit_and_a_measured_run_time_count_as_estimates) {
  JobRequest request;
  EXPECT_FALSE(has_fact(request, Fact::run_time));
  request.time_limit = Duration::whole_seconds(9);
  EXPECT_TRUE(has_fact(request, Fact::run_time));
}

}  // namespace
}  // namespace sl
