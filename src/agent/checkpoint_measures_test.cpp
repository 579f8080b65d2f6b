#include "agent/checkpoint_measures.h"

#include <gtest/gtest.h>

#include <future>

#include "agent/clocks.h"
#include "agent/run_until_test.h"

namespace sl::agent {
namespace {

class CheckpointMeasuresTest : public testing::Test {
 protected:
  static LauncherState end(const std::string& key) { return {.key = key, .state = "exited", .exit_code = 0}; }

  net::EventLoop loop;
  std::vector<std::string> told;  // "KEY BYTES"
  CheckpointMeasures measures{loop, [this](const LauncherState& ended, const CheckpointMeasures::Left& left) {
                                told.push_back(ended.key + (left ? " " + std::to_string(left->bytes) : ""));
                              }};
};

TEST_F(CheckpointMeasuresTest, an_end_is_told_with_what_was_found) {
  ASSERT_TRUE(measures.hold(
      end("5.1"),
      [] {
        return AttemptFiles::Checkpoint{7, {}};
      },
      boot_now()));
  ASSERT_TRUE(measures.hold(
      end("6.1"), [] { return std::nullopt; }, boot_now()));
  EXPECT_TRUE(told.empty()) << "not before it has been measured";
  run_until(loop, [&] { return told.size() == 2; });
  EXPECT_EQ(told, (std::vector<std::string>{"5.1 7", "6.1"}));
  measures.tick(boot_now() + Duration::whole_seconds(60));
  EXPECT_EQ(told.size(), 2u) << "each is told once";
}

TEST_F(CheckpointMeasuresTest, a_file_system_that_hangs_keeps_the_ends_of_five_seconds_only) {
  std::promise<void> answers;
  const auto hangs = [answered = answers.get_future().share()] {
    answered.wait();
    return AttemptFiles::Checkpoint{7, {}};
  };
  const Instant now = boot_now();
  ASSERT_TRUE(measures.hold(end("5.1"), hangs, now));
  ASSERT_TRUE(measures.hold(
      end("6.1"),
      [] {
        return AttemptFiles::Checkpoint{8, {}};
      },
      now + Duration::seconds(1)));
  measures.tick(now + Duration::milliseconds(4'900));
  EXPECT_TRUE(told.empty());
  measures.tick(now + Duration::whole_seconds(5));
  EXPECT_EQ(told, std::vector<std::string>{"5.1"});
  EXPECT_FALSE(measures.hold(end("7.1"), hangs, now)) << "nothing waits for what hangs already";
  answers.set_value();
  run_until(loop, [&, is_asked = false]() mutable {
    if (told.size() == 2 && !is_asked) is_asked = measures.hold(end("7.1"), hangs, now);
    return told.size() == 3;
  });
  EXPECT_EQ(told, (std::vector<std::string>{"5.1", "6.1 8", "7.1 7"})) << "what was found too late is not told";
}

TEST_F(CheckpointMeasuresTest, it_may_go_while_a_file_system_hangs) {
  std::promise<void> answers;
  std::promise<void> begun;
  {
    CheckpointMeasures short_lived{loop, [](const LauncherState&, const auto&) { FAIL() << "it has gone"; }};
    ASSERT_TRUE(short_lived.hold(
        end("5.1"),
        [&begun, answered = answers.get_future().share()]() -> CheckpointMeasures::Left {
          begun.set_value();
          answered.wait();
          return {};
        },
        boot_now()));
    begun.get_future().wait();
  }
  answers.set_value();
  run_until(loop, [until = boot_now() + Duration::milliseconds(50)] { return boot_now() > until; });
}

TEST_F(CheckpointMeasuresTest, ends_of_a_launcher_that_has_gone_are_forgotten) {
  ASSERT_TRUE(measures.hold(
      end("5.1"),
      [] {
        return AttemptFiles::Checkpoint{7, {}};
      },
      boot_now()));
  measures.forget_all();
  ASSERT_TRUE(measures.hold(
      end("6.1"),
      [] {
        return AttemptFiles::Checkpoint{8, {}};
      },
      boot_now()));
  run_until(loop, [&] { return !told.empty(); });
  EXPECT_EQ(told, std::vector<std::string>{"6.1 8"});
}

}  // namespace
}  // namespace sl::agent
