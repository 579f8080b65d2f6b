#include "controller/simulations.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <filesystem>

#include "controller/inbox.h"

namespace sl::controller {
namespace {

namespace fs = std::filesystem;

constexpr const char* facts = R"({"jobs":10,"load":{"gpus":8,"load":0.5},"more":1})";
constexpr const char* compared =
    R"({"left_out":{"oversize":1,"without_gpus":2,"impossible":{"CPUs":3}},"results":[{"policy":"fifo","parameters":{},"seed":1,"jobs":7,"avg_jct_s":7.5,"more":1}]})";

// Commands that end when the test says so; the core's thread is the test's.
class SimulationsTest : public testing::Test {
 protected:
  SimulationsTest()
      : folder_(fs::temp_directory_path() / ("sl-simulations-" + std::to_string(::getpid())) / "simulations") {
    fs::remove_all(folder_.parent_path());
    open();
  }
  ~SimulationsTest() override {
    close();
    fs::remove_all(folder_.parent_path());
  }

  void open() {
    simulations_ = std::make_unique<Simulations>(
        folder_.parent_path(),
        [this](const auto& arguments, const auto& folder, const auto&, const auto& hear) {
          return run(arguments, folder, hear);
        },
        [this] { return now_; }, [this](auto work) { core_.put(std::move(work)); }, [](std::int64_t) {});
    simulations_->open();
  }
  // With what was still to be done on the core's thread, which ends together with it.
  void close() {
    simulations_.reset();
    std::deque<std::function<void()>> undone;
    core_.take(undone, std::chrono::milliseconds(0));
  }

  Result<std::string> run(const std::vector<std::string>& arguments, const std::string&,
                          const std::function<bool(std::string_view)>& hear) {
    if (arguments.front() == "trace") return facts_.ok() ? Result<std::string>(*facts_) : facts_.error();
    ++running_;
    hear(R"({"part":0.25,"runs_done":0,"runs":1})");
    while (!may_end_) {
      if (!hear("")) {
        ++stopped_;
        return conflict("not-running", "it was stopped");
      }
      std::this_thread::yield();
    }
    return outcome_;
  }

  // Does the core's work until the condition holds.
  bool until(const std::function<bool()>& condition) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!condition() && std::chrono::steady_clock::now() < limit) {
      std::deque<std::function<void()>> inputs;
      core_.take(inputs, std::chrono::milliseconds(5));
      for (auto& input : inputs) input();
    }
    return condition();
  }
  Result<answers::Simulation> create(int runs = 1) {
    NewSimulation wanted{
        .shown = {}, .files = {{"trace.csv", "x"}}, .trace = "trace.csv", .servers = "1x8", .more = {}};
    wanted.shown.progress.runs = runs;
    std::optional<Result<answers::Simulation>> made;
    simulations_->create(std::move(wanted), "ann", [&](auto result) { made = std::move(result); });
    EXPECT_TRUE(until([&] { return made.has_value(); }));
    return *made;
  }
  bool reaches(std::int64_t id, const std::string& state) {
    return until([&] { return simulations_->find(id).ok() && simulations_->find(id)->state == state; });
  }

  fs::path folder_;
  Instant now_{1'000'000};
  Inbox core_;
  Result<std::string> facts_ = std::string(facts), outcome_ = std::string(compared);
  std::atomic<bool> may_end_ = false;
  std::atomic<int> running_ = 0, stopped_ = 0;
  std::unique_ptr<Simulations> simulations_;
};

TEST_F(SimulationsTest, one_is_checked_run_and_kept_with_its_figures) {
  const auto made = create();
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(made->state, "queued");
  EXPECT_EQ(made->jobs, 10);
  EXPECT_TRUE(until([&] { return simulations_->find(made->id)->progress.part == 0.25; }));
  EXPECT_EQ(simulations_->find(made->id)->state, "running");
  may_end_ = true;
  ASSERT_TRUE(reaches(made->id, "succeeded"));
  EXPECT_EQ(simulations_->find(made->id)->results.at(0).avg_jct_s, 7.5);
  close();
  open();  // another start of the controller
  ASSERT_TRUE(simulations_->find(made->id).ok());
  EXPECT_EQ(simulations_->find(made->id)->results.at(0).avg_jct_s, 7.5);
  EXPECT_EQ(simulations_->find(made->id)->created_at.us, 1'000'000);
  EXPECT_EQ(running_, 1);
}

TEST_F(SimulationsTest, says_which_jobs_were_left_out_once_that_is_known) {
  const auto made = create();
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_FALSE(made->left_out_reasons);
  may_end_ = true;
  ASSERT_TRUE(reaches(made->id, "succeeded"));
  close();
  open();
  const auto found = simulations_->find(made->id);
  ASSERT_TRUE(found.ok() && found->left_out_reasons);
  EXPECT_EQ(found->jobs, 7);
  EXPECT_EQ(found->left_out_reasons->without_gpus, 2);
  EXPECT_EQ(found->left_out_reasons->impossible.at("CPUs"), 3);
}

TEST_F(SimulationsTest, what_had_not_ended_runs_again_after_a_restart) {
  const auto made = create();
  ASSERT_TRUE(until([&] { return running_ == 1; }));
  close();
  EXPECT_EQ(stopped_, 1);
  may_end_ = true;
  open();
  EXPECT_TRUE(reaches(made->id, "succeeded"));
  EXPECT_EQ(running_, 2);
}

TEST_F(SimulationsTest, a_trace_that_cannot_be_read_leaves_nothing) {
  facts_ = invalid("trace-row", "line 3: gpus is not a number");
  const auto made = create();
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, "trace-row");
  EXPECT_EQ(made.error().pointer, "/trace");
  EXPECT_TRUE(simulations_->list().empty());
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(SimulationsTest, a_failure_is_shown_with_its_reason) {
  outcome_ = invalid("simulation-limit", "it took too long").hint("ask for less");
  may_end_ = true;
  const auto made = create();
  ASSERT_TRUE(reaches(made->id, "failed"));
  EXPECT_EQ(simulations_->find(made->id)->failure->code, "simulation-limit");
  EXPECT_EQ(simulations_->find(made->id)->failure->hints.at(0), "ask for less");
}

TEST_F(SimulationsTest, removing_one_that_runs_stops_it_and_the_next_begins) {
  const auto first = create(), second = create();
  ASSERT_TRUE(until([&] { return running_ == 1; }));
  EXPECT_EQ(simulations_->find(second->id)->state, "queued");
  EXPECT_TRUE(simulations_->remove(first->id).ok());
  EXPECT_TRUE(until([&] { return running_ == 2; }));
  EXPECT_EQ(stopped_, 1);
  EXPECT_EQ(simulations_->find(first->id).error().code, "simulation-not-found");
  EXPECT_TRUE(until([&] { return !fs::exists(folder_ / std::to_string(first->id)); }));
  EXPECT_TRUE(fs::exists(folder_ / std::to_string(second->id)));
}

TEST_F(SimulationsTest, only_so_many_may_wait) {
  for (std::size_t i = 0; i < simulations_open_max; ++i) ASSERT_TRUE(create().ok());
  EXPECT_EQ(create().error().code, "too-many-simulations");
  may_end_ = true;
  ASSERT_TRUE(reaches(1, "succeeded"));
  EXPECT_TRUE(create().ok());
}

TEST_F(SimulationsTest, one_with_too_many_jobs_in_all_its_runs_is_refused) {
  facts_ = std::string(R"({"jobs":500000,"load":{"gpus":8,"load":0.5}})");
  EXPECT_TRUE(create(2).ok());
  EXPECT_EQ(create(3).error().code, "simulation-too-large");
  EXPECT_TRUE(until([&] { return !fs::exists(folder_ / "2"); }));
}

TEST_F(SimulationsTest, the_oldest_goes_when_there_are_too_many) {
  may_end_ = true;
  for (std::size_t i = 0; i <= simulations_kept_max; ++i) {
    const auto made = create();
    ASSERT_TRUE(reaches(made->id, "succeeded"));
  }
  EXPECT_EQ(simulations_->list().size(), simulations_kept_max);
  EXPECT_FALSE(simulations_->find(1).ok());
  EXPECT_EQ(simulations_->list().front().id, static_cast<std::int64_t>(simulations_kept_max) + 1);
}

TEST_F(SimulationsTest, charts_need_results) {
  const auto made = create();
  std::string code;
  simulations_->draw(made->id, {.kind = "cdf", .theme = "auto"}, [&](const auto& chart) { code = chart.error().code; });
  EXPECT_EQ(code, "simulation-unfinished");
}

}  // namespace
}  // namespace sl::controller
