// Real trainings compared with their twins, on clusters that behave as described here.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "reproduce/live_experiments.h"

namespace sl::reproduce {
namespace {

namespace fs = std::filesystem;

// Two servers of two GPUs, or one of four; alone, a training takes 12, 6, 4, 3 s on 1 to 4 GPUs.
class Live : public testing::Test {
 protected:
  Live() {
    const std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
    folder_ = fs::path(testing::TempDir()) / ("live-" + name + "-" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~Live() override { fs::remove_all(folder_); }

  LiveSetup setup(wire::GpuRange gpus, std::vector<plot::HistoryServer> servers = {{"a", 2, 0}, {"b", 2, 2}}) {
    LiveSetup made{std::move(servers), "training", gpus, {1, 6}, folder_.string(), {}};
    made.run = [this](const LiveRun& run) { return as_simulated(run); };
    return made;
  }

  // A cluster that does what the simulator predicts, except that trainings next to others take `slowdown_` times as
  // long.
  Result<std::vector<LiveJob>> as_simulated(const LiveRun& run) {
    Lengths lengths{1, lengths_};
    if (run.count > 1) {
      for (double& seconds : lengths.seconds) seconds *= slowdown_;
    }
    std::vector<double> submitted_s;
    for (int i = 0; i < run.count; ++i) submitted_s.push_back(i * run.interval_s);
    LiveSetup cluster = setup({1, 4});
    if (run.gpus.max > 2) cluster.servers = {{"a", 4, 0}};
    auto jobs = simulate_live(cluster, lengths, run, submitted_s, run.policy == "round_robin" ? round_robin_first_ : 0);
    SL_CHECK(jobs.ok(), "the runs of tests can be simulated");
    for (LiveJob& job : *jobs) {  // the cluster has its own clock
      for (double* time : {&job.times.submitted_s, &job.times.started_s, &job.times.finished_s}) *time += 1e6;
    }
    return jobs;
  }

  LiveResult run(const std::string& experiment, const LiveSetup& setup) {
    auto result = (*find_live_experiment(experiment))->run(setup);
    SL_CHECK(result.ok(), "the experiments of tests run");
    return std::move(*result);
  }
  std::string error_of(const std::string& experiment, const LiveSetup& setup) {
    const auto result = (*find_live_experiment(experiment))->run(setup);
    return result.ok() ? "" : result.error().code;
  }

  fs::path folder_;
  std::vector<double> lengths_ = {12, 6, 4, 3};
  double slowdown_ = 1;
  int round_robin_first_ = 0;
};

const LiveRow& row_of(const LiveResult& result, const std::string& series, const std::string& x,
                      const LiveMetric& metric) {
  for (const LiveRow& row : result.rows) {
    if (row.series == series && row.x == x && row.metric.name == std::string(metric.name)) return row;
  }
  SL_CHECK(false, "the rows that tests ask for exist");
}

// Two GPUs, three jobs of 10 s submitted at once: 20 s; a run as simulated has no gap, one that took 25 s has a gap of
// a quarter.
TEST_F(Live, real_times_stand_beside_those_of_the_same_jobs_simulated) {
  std::vector<LiveJob> jobs = {{{100, 100, 110, 0, true}, {{0, 0, 0}}},
                               {{100, 100, 110, 0, true}, {{0, 1, 1}}},
                               {{100, 110, 125, 0, true}, {{0, 0, 0}}}};
  LiveSetup by_hand = setup({1, 1}, {{"a", 2, 0}});
  by_hand.run = [&](const LiveRun&) { return jobs; };
  const auto pair = run_both(by_hand, {1, {10}}, {"fifo", {1, 1}, 3, 0});
  ASSERT_TRUE(pair.ok());
  EXPECT_NEAR(makespan_s(pair->simulated), 20, 1e-9);
  EXPECT_NEAR(makespan_s(pair->real), 25, 1e-9);
  EXPECT_NEAR(turnaround_s(pair->simulated), 10, 1e-9);
  EXPECT_NEAR(turnaround_s(pair->real), 35.0 / 3, 1e-9);
  EXPECT_EQ(plot::allocated_shares(history_of(by_hand, pair->simulated), {0, 20}), std::vector<double>{0.75});
  EXPECT_EQ(plot::allocated_shares(history_of(by_hand, pair->real), {0, 25}), std::vector<double>{0.7});
  std::stringstream trace;
  trace << std::ifstream(folder_ / "fifo-3-on-1.trace.csv").rdbuf();
  EXPECT_EQ(trace.str(),
            "job_id,submit_time_s,gpus,duration_s,gpus_min,gpus_max,profile\n1,0.000,1,10.000,1,1,speedup:1\n"
            "2,0.000,1,10.000,1,1,speedup:1\n3,0.000,1,10.000,1,1,speedup:1\n");
}

TEST_F(Live, a_cluster_that_does_what_the_simulator_says_has_no_gap_in_any_experiment) {
  for (const LiveExperiment& experiment : live_experiments()) {
    SCOPED_TRACE(experiment.name);
    const bool needs_four = experiment.name == std::string("schedulearn-scalability");
    const LiveSetup cluster = needs_four ? setup({1, 4}, {{"a", 4, 0}}) : setup({1, 2});
    const LiveResult result = run(experiment.name, cluster);
    EXPECT_FALSE(result.rows.empty());
    for (const LiveRow& row : result.rows) EXPECT_NEAR(row.gap_pct(), 0, 1e-3) << row.series << ' ' << row.metric.name;
    EXPECT_FALSE(live_figure(result).panels.empty());
  }
}

// The hue says whose line or bar it is, the shade whether it is simulated.
TEST_F(Live, pictures_have_one_hue_for_what_is_compared_and_simulated_is_its_paler_shade) {
  for (const LiveExperiment& experiment : live_experiments()) {
    SCOPED_TRACE(experiment.name);
    const bool needs_four = experiment.name == std::string("schedulearn-scalability");
    std::map<std::string, int> hues;  // of what is compared
    const auto check = [&](const auto& marks) {
      for (const auto& mark : marks) {
        if (mark.name == "ideal") continue;
        const std::string compared = mark.name.substr(0, mark.name.rfind(' ') + 1);  // "fifo, "
        EXPECT_EQ(hues.emplace(compared, mark.style).first->second, mark.style) << mark.name;
        EXPECT_EQ(mark.tone, mark.name.ends_with("simulated") ? plot::Tone::pale : plot::Tone::full) << mark.name;
      }
    };
    const LiveSetup cluster = needs_four ? setup({1, 4}, {{"a", 4, 0}}) : setup({1, 2});
    for (const plot::Panel& panel : live_figure(run(experiment.name, cluster)).panels)
      check(panel.bars), check(panel.series);
    std::set<int> different;
    for (const auto& [compared, hue] : hues) different.insert(hue);
    EXPECT_EQ(different.size(), hues.size());
    EXPECT_FALSE(hues.empty());
  }
}

TEST_F(Live, trainings_that_slow_one_another_down_are_a_gap_of_as_much) {
  slowdown_ = 1.25;
  const LiveResult result = run("schedulearn-turnaround", setup({1, 2}));
  for (const char* policy : {"fifo", "round_robin", "elastic_fifo"}) {
    EXPECT_NEAR(row_of(result, policy, "1", turnaround_metric).gap_pct(), 0, 1e-3);
    EXPECT_NEAR(row_of(result, policy, "6", turnaround_metric).gap_pct(), 25, 1e-3);
  }
  EXPECT_NEAR(row_of(result, "elastic_fifo", "1", turnaround_metric).real, 6, 1e-3);  // both GPUs of a server
  EXPECT_NEAR(row_of(result, "fifo", "1", turnaround_metric).real, 12, 1e-3);
}

TEST_F(Live, a_training_on_a_server_that_came_later_is_an_error) {
  LiveSetup growing = setup({1, 2});
  growing.run = [&](const LiveRun& run) {
    auto jobs = as_simulated(run);
    if (run.count > 1) jobs->front().gpus.clear();
    return jobs;
  };
  for (const char* experiment : {"schedulearn-turnaround", "schedulearn-utilization"})
    EXPECT_EQ(error_of(experiment, growing), "cluster-changed");
}

TEST_F(Live, what_ends_at_once_takes_a_millisecond) {
  lengths_ = {0.001, 0.001};
  LiveSetup instant = setup({1, 2});
  instant.run = [&](const LiveRun& run) {
    auto jobs = as_simulated(run);
    for (LiveJob& job : *jobs) job.times.finished_s = job.times.started_s;
    return jobs;
  };
  EXPECT_NEAR(row_of(run("schedulearn-speedup", instant), "training", "2", speedup_metric).real, 1, 1e-9);
}

TEST_F(Live, speedup_compares_the_first_runs_with_the_second) {
  LiveSetup cluster = setup({1, 2});
  int runs = 0;
  cluster.run = [&](const LiveRun& run) {
    if (++runs > 2 * runs_alone) lengths_ = {12, 7.5};
    return as_simulated(run);
  };
  const LiveResult result = run("schedulearn-speedup", cluster);
  EXPECT_EQ(runs, 4 * runs_alone);
  EXPECT_NEAR(row_of(result, "training", "2", duration_metric).gap_pct(), 25, 1e-3);
  EXPECT_NEAR(row_of(result, "training", "2", speedup_metric).simulated, 2, 1e-3);
  EXPECT_NEAR(row_of(result, "training", "2", speedup_metric).real, 1.6, 1e-3);
}

// A power of the GPUs through 12 and 7 s: 3^log2(12/7) = 2.350 on three GPUs, where 12 s / 6 s are measured.
TEST_F(Live, scalability_predicts_from_one_and_two_gpus) {
  lengths_ = {12, 7, 6};
  const LiveResult result = run("schedulearn-scalability", setup({1, 3}, {{"a", 4, 0}}));
  ASSERT_EQ(result.rows.size(), 1U);
  EXPECT_NEAR(result.rows[0].simulated, 2.3497, 1e-3);
  EXPECT_NEAR(result.rows[0].real, 2, 1e-3);
}

// One every 12 * 10 / 157 = 0.76 s on four GPUs: six are in the system before the first ends.
TEST_F(Live, submission_counts_the_jobs_in_the_system) {
  const LiveResult result = run("schedulearn-submission", setup({1, 2}));
  EXPECT_EQ(row_of(result, "fifo", "6", most_metric).real, 6);
  EXPECT_NEAR(row_of(result, "fifo", "1", last_end_metric).real, 12, 1e-3);
  EXPECT_NEAR(row_of(result, "fifo", "6", last_end_metric).real, 24 + 120.0 / 157, 1e-2);
}

// Four arrive 0.76 s apart, the last at 2.29 of 3.06 s. FIFO: 4 + 3 of 8 quarters on a, 2 + 1 on b; round robin the
// other way round if its last job was on a.
TEST_F(Live, utilization_begins_round_robin_where_the_cluster_does) {
  round_robin_first_ = 1;
  const LiveResult result = run("schedulearn-utilization", setup({1, 2}));
  EXPECT_NEAR(row_of(result, "fifo", "a", held_metric).real, 700.0 / 8, 0.1);
  EXPECT_NEAR(row_of(result, "fifo", "b", held_metric).real, 300.0 / 8, 0.1);
  EXPECT_NEAR(row_of(result, "round_robin", "b", held_metric).real, 600.0 / 8, 0.1);
  for (const LiveRow& row : result.rows) EXPECT_NEAR(row.gap_pct(), 0, 0.1) << row.series << row.x;
}

TEST_F(Live, a_training_or_cluster_that_does_not_serve_is_refused_before_anything_runs) {
  LiveSetup one_gpu = setup({1, 1}), small = setup({1, 2});
  one_gpu.run = small.run = [](const LiveRun&) -> Result<std::vector<LiveJob>> { SL_CHECK(false, "nothing runs"); };
  EXPECT_EQ(error_of("schedulearn-speedup", one_gpu), "bad-job");
  EXPECT_EQ(error_of("schedulearn-scalability", small), "cluster-too-small");
  small.gpus = {2, 2};
  EXPECT_EQ(error_of("schedulearn-scalability", small), "bad-job");
}

TEST_F(Live, other_experiments_are_answered_with_those_that_can) {
  const auto found = find_live_experiment("philly");
  ASSERT_FALSE(found.ok());
  for (const LiveExperiment& experiment : live_experiments())
    EXPECT_NE(found.error().notes.front().find(experiment.name), std::string::npos);
}

TEST(LiveResult, a_policy_has_one_colour_and_simulated_is_its_paler_shade) {
  for (const bool has_lines : {false, true}) {
    LiveResult result{"Policy", "Jobs", has_lines};
    for (const char* policy : {"fifo", "round_robin"}) {
      result.rows.push_back({policy, "1", makespan_metric, 1, 2});
      result.rows.push_back({policy, "5", makespan_metric, 3, 4});
    }
    const plot::Panel panel = live_figure(result).panels.front();
    const auto check = [](const auto& marks) {
      for (const auto& mark : marks) {
        EXPECT_EQ(mark.style, mark.name.starts_with("fifo") ? 0 : 1) << mark.name;
        EXPECT_EQ(mark.tone == plot::Tone::pale, mark.name.ends_with("simulated")) << mark.name;
      }
    };
    check(panel.bars), check(panel.series);
  }
}

TEST(LiveResult, table_csv_and_json_show_the_same_rows) {
  LiveResult result{"Policy", "Server"};
  result.rows = {{"fifo", "a", held_metric, 50, 45}, {"round_robin", "b", makespan_metric, 10, 11}};
  EXPECT_EQ(
      live_csv(result),
      "policy,server,figure,simulated,real,gap_pct\nfifo,a,held_pct,50,45,-5\nround_robin,b,makespan_s,10,11,10\n");
  EXPECT_EQ(live_table(result),
            "  POLICY       SERVER  FIGURE        SIMULATED       REAL            GAP\n"
            "  fifo              a  held_pct          50.00      45.00    -5.0 points\n"
            "  round_robin       b  makespan_s        10.00      11.00        +10.0 %\n");
  EXPECT_EQ(live_json(result).at("rows").at(0), (boost::json::object{{"policy", "fifo"},
                                                                     {"server", "a"},
                                                                     {"figure", "held_pct"},
                                                                     {"simulated", 50.0},
                                                                     {"real", 45.0},
                                                                     {"gap_pct", -5.0}}));
}

}  // namespace
}  // namespace sl::reproduce
