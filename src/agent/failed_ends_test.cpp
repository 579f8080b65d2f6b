#include "agent/failed_ends.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>

#include "agent/clocks.h"

namespace sl::agent {
namespace {

// Two GPUs, of which the second may be gone, or nothing answers.
class Probe : public GpuProbe {
 public:
  enum State { whole, second_gone, hangs };
  explicit Probe(std::shared_ptr<std::atomic<State>> state) : state_(std::move(state)) {}
  bool simulated() const override { return false; }
  std::string driver_version() const override { return "1"; }
  std::vector<wire::GpuReport> sample() override {
    while (*state_ == hangs) ::usleep(1'000);
    std::vector<wire::GpuReport> gpus(*state_ == second_gone ? 1 : 2);
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      gpus[i].index = static_cast<int>(i);
      gpus[i].uuid = std::to_string(i);
    }
    return gpus;
  }

 private:
  std::shared_ptr<std::atomic<State>> state_;
};

class FailedEndsTest : public testing::Test {
 protected:
  static LauncherState end(int exit_code, const std::string& gpus) {
    return {.key = "5.1", .state = "exited", .exit_code = exit_code, .gpus = gpus};
  }
  // What is told of it in the end.
  LauncherState examine(const LauncherState& ended) {
    EXPECT_TRUE(ends.hold(ended, boot_now()));
    for (int i = 0; i < 2'000 && told.empty(); ++i, ::usleep(5'000)) ends.tick(boot_now());
    return told.empty() ? LauncherState{} : told.back();
  }
  std::shared_ptr<std::atomic<Probe::State>> state = std::make_shared<std::atomic<Probe::State>>(Probe::whole);
  std::unique_ptr<GpuWatch> gpus = *GpuWatch::open([this] { return std::make_unique<Probe>(state); });
  std::vector<LauncherState> told;
  FailedEnds ends{*gpus, [this](const LauncherState& ended) { told.push_back(ended); }};
};

TEST_F(FailedEndsTest, an_attempt_that_fails_as_its_gpu_goes_failed_by_it) {
  *state = Probe::second_gone;  // nobody has looked since
  const LauncherState seen = examine(end(1, "0,1"));
  EXPECT_EQ(seen.failure_kind, "gpu_error");
  EXPECT_EQ(seen.failure_message, "GPU 1 no longer answers (exit code 1)");
  EXPECT_EQ(seen.exit_code, 1);
}

TEST_F(FailedEndsTest, another_gpu_s_fault_is_not_its) {
  *state = Probe::second_gone;
  EXPECT_EQ(examine(end(1, "0")).failure_kind, "");
}

TEST_F(FailedEndsTest, an_end_while_no_agent_ran_is_explained_by_a_gpu_that_is_missing_when_one_starts) {
  *state = Probe::second_gone;
  const std::unique_ptr<GpuWatch> later = *GpuWatch::open([this] { return std::make_unique<Probe>(state); });
  later->number(gpus->known());
  const FailedEnds successor{*later, [](const LauncherState&) {}};
  EXPECT_EQ(successor.explain(end(1, "0,1")).failure_message, "GPU 1 no longer answers (exit code 1)");
  EXPECT_EQ(successor.explain(end(1, "0,1")).failure_kind, "gpu_error");
  EXPECT_EQ(successor.explain(end(1, "0")).failure_kind, "");
  EXPECT_EQ(successor.explain(end(0, "1")).failure_kind, "");
  LauncherState stopped = end(1, "1");
  stopped.stopped_by = "order";
  EXPECT_EQ(successor.explain(stopped).failure_kind, "");
}

TEST_F(FailedEndsTest, a_good_end_and_one_that_is_known_are_not_held_back) {
  EXPECT_FALSE(ends.hold(end(0, "0"), boot_now()));
  LauncherState lost = end(1, "0");
  lost.failure_kind = "lost";
  EXPECT_FALSE(ends.hold(lost, boot_now()));
}

TEST_F(FailedEndsTest, a_library_that_hangs_keeps_an_end_for_three_seconds_only) {
  *state = Probe::hangs;
  const Instant now = boot_now();
  ASSERT_TRUE(ends.hold(end(1, "0"), now));
  ends.tick(now + Duration::milliseconds(2'900));
  EXPECT_TRUE(told.empty());
  ends.tick(now + Duration::whole_seconds(3));
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].failure_kind, "");
  *state = Probe::whole;
}

}  // namespace
}  // namespace sl::agent
