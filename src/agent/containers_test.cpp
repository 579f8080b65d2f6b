// What is known of the end of an attempt in a container.
#include "agent/containers.h"

#include <gtest/gtest.h>

namespace sl::agent {
namespace {

LauncherState ended() {
  LauncherState state;
  state.state = "exited", state.started_us = 5, state.exit_code = 143;
  return state;
}

TEST(ContainerEndsTest, who_asked_it_to_end_is_known_also_if_the_launcher_that_passed_that_on_has_died) {
  container::Outcome outcome;
  outcome.exit_code = 143, outcome.asked_to_end = true;
  EXPECT_EQ(explained_by(outcome, true, ended()).stopped_by, "order");
  LauncherState by_lease = ended();
  by_lease.stopped_by = "lease";
  EXPECT_EQ(explained_by(outcome, true, by_lease).stopped_by, "lease") << "the launcher knows more";
  outcome.asked_to_end = false;
  EXPECT_EQ(explained_by(outcome, true, ended()).stopped_by, "");
}

TEST(ContainerEndsTest, one_that_certainly_has_not_begun_has_not_started) {
  container::Outcome outcome;
  outcome.exit_code = 1, outcome.may_have_begun = false;
  EXPECT_EQ(explained_by(outcome, true, ended()).started_us, 0);
  EXPECT_EQ(explained_by(std::nullopt, false, ended()).started_us, 0);
  outcome.may_have_begun = true;
  EXPECT_EQ(explained_by(outcome, false, ended()).started_us, 5) << "its own report counts";
}

TEST(ContainerEndsTest, one_without_a_report_is_lost_if_what_ran_it_could_not_say_how_it_ended) {
  LauncherState state = ended();
  state.exit_code = container::failed_code;
  const LauncherState lost = explained_by(std::nullopt, true, state);
  EXPECT_EQ(lost.failure_kind, "lost");
  EXPECT_FALSE(lost.exit_code);
  EXPECT_EQ(explained_by(std::nullopt, true, ended()).exit_code, 143);
}

}  // namespace
}  // namespace sl::agent
