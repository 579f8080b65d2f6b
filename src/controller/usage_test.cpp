#include "controller/usage.h"

#include <gtest/gtest.h>

namespace sl::controller {
namespace {

constexpr std::int64_t second = 1'000'000;

store::EventRow change(std::int64_t at_s, std::string from, std::string to) {
  store::EventRow event{.at_us = at_s * second, .kind = "job.state", .from = std::move(from), .to = std::move(to)};
  return event;
}

// Waits 10 s, starts in 2 s, runs 5 s, is stopped for 1 s, waits 4 s, starts in 3 s and runs.
const std::vector<store::EventRow> preempted{change(0, "", "pending"),          change(10, "pending", "starting"),
                                             change(12, "starting", "running"), change(17, "running", "stopping"),
                                             change(18, "stopping", "pending"), change(22, "pending", "starting"),
                                             change(25, "starting", "running")};

store::JobRow row_of(const char* state) {
  store::JobRow row{.id = 1, .state = state};
  row.attempt = 2, row.preemptions = 1, row.attained_gpu_us = 30 * second;
  return row;
}

TEST(Usage, tells_how_long_a_job_was_in_which_state) {
  const RequestEstimates estimates;
  const Core core(estimates, {});
  const answers::Usage usage = usage_view(core, {.row = row_of("running")}, preempted, nullptr, Instant{35 * second});
  EXPECT_EQ(usage.state_s,
            (std::map<std::string, double>{{"pending", 14}, {"running", 15}, {"starting", 5}, {"stopping", 1}}));
  EXPECT_EQ(usage.interrupted_s, 4) << "stopped and started again; the first start is none";
  EXPECT_EQ(usage.gpu_seconds, 30);
  EXPECT_EQ(usage.attempts, 2);
  EXPECT_EQ(usage.energy_joules, std::nullopt) << "nothing was measured";
}

TEST(Usage, of_a_job_that_has_ended_grows_no_more) {
  const RequestEstimates estimates;
  const Core core(estimates, {});
  std::vector<store::EventRow> events = preempted;
  events.push_back(change(30, "running", "succeeded"));
  store::JobRow row = row_of("succeeded");
  row.finished_us = 30 * second;
  const answers::Usage usage = usage_view(core, {.row = row}, events, nullptr, Instant{99 * second});
  EXPECT_EQ(usage.state_s.at("running"), 10);
  EXPECT_FALSE(usage.state_s.contains("succeeded"));
}

}  // namespace
}  // namespace sl::controller
