#include "study/auto_policy.h"

#include <gtest/gtest.h>

#include "policies/registry.h"

namespace sl::study {
namespace {

// Some of each kind; then, when they have ended, long jobs and many short ones behind them.
trace::Trace long_before_short() {
  static const std::vector<std::string> ids = [] {
    std::vector<std::string> all;
    for (int i = 0; i < 100; ++i) all.push_back(std::to_string(i));
    return all;
  }();
  trace::Trace trace;
  trace.users = {"", "slow", "quick"};
  const auto add = [&trace](bool is_long, double seconds) {
    trace::TraceJob& job = trace.jobs.emplace_back();
    const std::string& id = ids[trace.jobs.size() - 1];
    job.submitted = Instant::at_seconds(seconds);
    job.duration = Duration::whole_seconds(is_long ? 1'000 : 10);
    job.gpus = 1;
    job.user = is_long ? 1 : 2;
    job.id_text = id.c_str(), job.id_size = static_cast<std::uint32_t>(id.size());
  };
  for (const bool is_long : {true, true, false, false, false, false}) add(is_long, 0);  // to learn from
  for (int i = 0; i < 60; ++i) add(i < 12, 3'000 + i);
  return trace;
}

struct Switches : sim::WorldObserver {
  void happened(const sim::WorldEvent& event) override {
    if (event.kind == sim::WorldEventKind::policy) names.emplace_back(event.name);
  }
  std::vector<std::string> names;
};

struct Simulated {
  double jct_s = 0;
  std::vector<std::string> switches;
};

Simulated run(const std::string& policy, const GivenParameters& parameters = {}, bool knows_durations = true) {
  const trace::Trace trace = long_before_short();
  Switches switches;
  sim::SimulationSettings settings;
  settings.cluster = sim::Cluster::uniform(1, 2);
  settings.knows_durations = knows_durations;
  settings.observer = &switches;
  if (policy == "auto") settings.advise = auto_adviser(trace, settings, parameters);
  const auto result = sim::simulate(trace, std::move(*make_policy(policy, parameters)), settings);
  Simulated run{.switches = switches.names};
  for (std::size_t i = 0; i < trace.jobs.size(); ++i)
    run.jct_s += (result.outcomes[i].finished - trace.jobs[i].submitted).to_seconds() / 66;
  return run;
}

// Two GPUs that have more to do than they can: every 100 s ten jobs of 10 s that should end within 100 s, and one of 200 s
// within 500 s.
trace::Trace overloaded() {
  static const std::vector<std::string> ids = [] {
    std::vector<std::string> all;
    for (int i = 0; i < 550; ++i) all.push_back(std::to_string(i));
    return all;
  }();
  trace::Trace trace;
  trace.users = {"", "slow", "quick"};
  for (int i = 0; i < 550; ++i) {
    const bool is_long = i % 11 == 0;
    trace::TraceJob& job = trace.jobs.emplace_back();
    job.submitted = Instant::at_seconds(i / 11 * 100 + i % 11);
    job.duration = Duration::whole_seconds(is_long ? 200 : 10);
    job.gpus = 1;
    job.user = is_long ? 1 : 2;
    job.id_text = ids[static_cast<std::size_t>(i)].c_str();
    job.id_size = static_cast<std::uint32_t>(ids[static_cast<std::size_t>(i)].size());
    job.details = static_cast<std::uint32_t>(trace.details.size());
    trace.details.emplace_back().deadline = job.submitted + Duration::whole_seconds(is_long ? 500 : 100);
  }
  return trace;
}

struct Missed {
  std::size_t jobs = 0;
  std::vector<std::string> switches;
};

Missed missed(const std::string& policy, const GivenParameters& parameters, bool knows_durations) {
  const trace::Trace trace = overloaded();
  Switches switches;
  sim::SimulationSettings settings;
  settings.cluster = sim::Cluster::uniform(1, 2);
  settings.knows_durations = knows_durations;
  settings.observer = &switches;
  if (policy == "auto") settings.advise = auto_adviser(trace, settings, parameters);
  const auto result = sim::simulate(trace, std::move(*make_policy(policy, parameters)), settings);
  Missed missed{.switches = switches.names};
  for (std::size_t i = 0; i < trace.jobs.size(); ++i)
    missed.jobs += result.outcomes[i].finished > trace.details[i].deadline;
  return missed;
}

GivenParameters often() { return {{"candidates", "fifo,sjf"}, {"every_s", "5"}, {"hold_s", "0"}, {"ahead_s", "4000"}}; }

TEST(AutoPolicy, decides_as_the_better_candidate_once_the_forecast_shows_it) {
  const Simulated ours = run("auto", often());
  ASSERT_FALSE(ours.switches.empty());
  EXPECT_TRUE(ours.switches.front().starts_with("auto: sjf, mean time to the end ")) << ours.switches.front();
  EXPECT_LT(ours.jct_s, 1.05 * run("sjf").jct_s);
  EXPECT_LT(ours.jct_s, 0.5 * run("fifo").jct_s);
}

TEST(AutoPolicy, learns_lengths_from_what_has_finished_if_policies_do_not_know_them) {
  const GivenParameters given = {{"candidates", "fifo,sjf,tiresias"}, {"every_s", "5"}, {"hold_s", "0"}};
  EXPECT_LT(run("auto", given, false).jct_s, 0.6 * run("fifo", {}, false).jct_s);
}

TEST(AutoPolicy, of_one_candidate_is_that_candidate) {
  for (const char* name : {"fifo", "sjf", "srtf"})
    EXPECT_EQ(run("auto", {{"candidates", name}}).jct_s, run(name).jct_s) << name;
}

// In order of arrival nearly all come late.
TEST(AutoPolicy, by_deadlines_takes_what_would_have_missed_the_fewest) {
  const GivenParameters given = {
      {"candidates", "fifo,edf"}, {"objective", "deadlines"}, {"every_s", "400"}, {"hold_s", "0"}};
  for (const bool knows_durations : {true, false}) {
    const Missed ours = missed("auto", given, knows_durations);
    ASSERT_EQ(ours.switches.size(), 1U);
    EXPECT_TRUE(ours.switches.front().starts_with("auto: edf, missed deadlines, looking back, "))
        << ours.switches.front();
    EXPECT_LE(ours.jobs, missed("edf", {}, knows_durations).jobs + 50);
    EXPECT_GT(missed("fifo", {}, knows_durations).jobs, 500U);
  }
}

TEST(AutoPolicy, is_deterministic) { EXPECT_EQ(run("auto", often()).jct_s, run("auto", often()).jct_s); }

}  // namespace
}  // namespace sl::study
