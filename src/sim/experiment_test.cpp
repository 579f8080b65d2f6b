#include "sim/experiment.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "sim/choices.h"
#include "sim/commands.h"
#include "sim/report.h"
#include "sim/statistics.h"

namespace sl::sim {
namespace {

namespace fs = std::filesystem;

std::string content(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

class Experiments : public testing::Test {
 protected:
  Experiments() {
    fs::create_directories(folder_);
    std::ofstream trace(folder_ / "t.csv");
    trace << "job_id,submit_time_s,gpus,duration_s,user\n";
    for (int i = 0; i < 40; ++i)
      trace << i << ',' << i * 7 << ',' << 1 + i % 4 << ',' << 100 + (i * 37) % 400 << ",u" << i % 3 << '\n';
  }
  ~Experiments() override { fs::remove_all(folder_); }

  SimulationOptions options() const {
    SimulationOptions made;
    made.trace = (folder_ / "t.csv").string();
    made.servers = "2x4";
    return made;
  }
  // What is printed.
  std::string compared(const SimulationOptions& options) const {
    std::ostringstream out;
    const auto done = compare(options, out);
    EXPECT_TRUE(done.ok()) << done.error().message;
    return out.str();
  }
  static std::string code(const SimulationOptions& options) {
    std::ostringstream out;
    const auto done = compare(options, out);
    EXPECT_EQ(out.str(), "");
    return done.ok() ? "" : done.error().code;
  }

  const fs::path folder_ = fs::path(testing::TempDir()) / ("experiments-" + std::to_string(::getpid()));
};

TEST_F(Experiments, are_policies_times_parameters_times_counts_times_seeds) {
  SimulationOptions o = options();
  o.policies = {"fifo", "tiresias"};
  o.parameters = {"threshold_gpu_s=100,1000"};
  o.seeds = "1..2";
  o.job_counts = "10,20";
  o.json = true;
  const auto document = boost::json::parse(compared(o)).as_object();
  EXPECT_EQ(document.at("results").as_array().size(), (1 + 2) * 2 * 2);
  EXPECT_EQ(document.at("results").at(0).at("jobs"), 10);
  EXPECT_EQ(document.at("results").at(4).at("parameters").at("threshold_gpu_s"), "100");
}

TEST_F(Experiments, leave_the_same_bytes_whoever_runs_first) {
  SimulationOptions o = options();
  o.policies = {"fifo", "srtf", "gandiva", "elastic_fifo"};
  o.elastic = "0.5..2";
  o.events = true;
  for (const char* name : {"a", "b"}) {
    o.folder = (folder_ / name).string();
    compared(o);
  }
  int files = 0;
  for (const auto& file : fs::directory_iterator(folder_ / "a")) {
    EXPECT_EQ(content(file.path()), content(folder_ / "b" / file.path().filename())) << file.path();
    ++files;
  }
  EXPECT_EQ(files, 1 + 4 * 2);
}

TEST_F(Experiments, write_what_happened_in_order) {
  std::ofstream(folder_ / "two.csv") << "job_id,submit_time_s,gpus,duration_s,user\na,0,6,10,ann\nb,0.5,2,10,bob\n";
  SimulationOptions o = options();
  o.trace = (folder_ / "two.csv").string();
  o.jobs_out = (folder_ / "jobs.csv").string();
  o.events_out = (folder_ / "events.csv").string();
  compared(o);
  EXPECT_EQ(content(o.jobs_out),
            "job_id,user,gpus,submit_s,start_s,finish_s,jct_s,wait_s,run_s,preemptions,resizes,migrations,failures\n"
            "a,ann,6,0,0,10,10,0,10,0,0,0,0\n"
            "b,bob,2,0.5,0.5,10.5,10,0,10,0,0,0,0\n");
  EXPECT_EQ(content(o.events_out),
            "at_s,event,job_id,gpus,where\n"
            "0,server,,4,gpu0\n0,server,,4,gpu1\n0,submit,a,6,\n0,start,a,6,gpu0:0-3+gpu1:0-1\n"
            "0.5,submit,b,2,\n0.5,start,b,2,gpu1:2-3\n10,finish,a,6,\n10.5,finish,b,2,\n");
}

TEST_F(Experiments, keep_what_is_finished_when_interrupted) {
  SimulationOptions o = options();
  o.policies = {"all"};
  o.seeds = "1..200";
  o.json = true;
  o.interrupted = [] { return true; };
  std::ostringstream out;
  const auto done = compare(o, out);
  ASSERT_TRUE(done.ok());
  EXPECT_FALSE(*done);
  const auto document = boost::json::parse(out.str()).as_object();
  EXPECT_EQ(document.at("interrupted"), true);
  for (const auto& row : document.at("results").as_array()) EXPECT_EQ(row.at("unfinished"), 0);
}

TEST_F(Experiments, say_what_a_policy_assumes_where_the_trace_is_silent) {
  SimulationOptions o = options();
  o.policies = {"edf"};
  EXPECT_NE(compared(o).find("edf: 40 of 40 submitted jobs have no deadline: they go last"), std::string::npos);
  o.policies = {"sjf"};
  EXPECT_EQ(compared(o).find("sjf:"), std::string::npos);  // it is told the true durations
  o.blind = true;
  EXPECT_NE(compared(o).find("sjf: 40 of 40 submitted jobs have neither estimate"), std::string::npos);
}

TEST_F(Experiments, that_cannot_be_done_say_so_before_anything_runs) {
  SimulationOptions o = options();
  o.policies = {"fifo", "nosuch"};
  EXPECT_EQ(code(o), "unknown-policy");
  o = options();
  o.parameters = {"nosuch=1"};
  EXPECT_EQ(code(o), "unknown-parameter");
  o.parameters = {"=1"};
  EXPECT_EQ(code(o), "bad-parameter");
  o = options();
  o.seeds = "3..1";
  EXPECT_EQ(code(o), "bad-flag");
  o = options();
  o.elastic = "2..3";
  EXPECT_EQ(code(o), "bad-flag");
  o = options();
  o.metrics = "avg_jct";
  EXPECT_EQ(code(o), "unknown-metric");
  o = options();
  o.policies = {"fifo", "srtf"};
  o.jobs_out = "/tmp/x.csv";
  EXPECT_EQ(code(o), "bad-flag");
  o = options();
  o.switches = {"soon=srtf"};
  EXPECT_NE(code(o), "");
  o = options();
  o.jobs_out = "/no/such/folder/x.csv";
  EXPECT_EQ(code(o), "cannot-write");
}

TEST(Intervals, are_students_t_and_paired_by_seed) {
  // Mean 3, standard deviation 1.5811, n 5, t(0.975, 4) = 2.776: 3 ± 1.963.
  const Interval of = interval_of({1, 2, 3, 4, 5});
  EXPECT_DOUBLE_EQ(of.mean, 3);
  EXPECT_NEAR(of.half_width, 1.963, 1e-3);
  const Interval change = paired_change_pct({100, 200}, {110, 220});
  EXPECT_DOUBLE_EQ(change.mean, 10);
  EXPECT_NEAR(change.half_width, 0, 1e-9);
}

}  // namespace
}  // namespace sl::sim
