// Jobs of a trace that the cluster can never run are left out and named; those that can run only once a server is back
// keep nobody waiting.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "study/experiment.h"

namespace sl::study {
namespace {

namespace fs = std::filesystem;

// Like openB: GPUs of two types, CPUs and memory; one pod asks for more CPUs than any server with its type has.
class ImpossibleJobs : public testing::Test {
 protected:
  ImpossibleJobs() {
    fs::create_directories(folder_);
    std::ofstream(folder_ / "t.csv") << "job_id,submit_time_s,gpus,duration_s,gpu_type,cpus,mem_mib\n"
                                        "a,0,2,100,T4,8,1024\n"
                                        "huge,1,1,100,,120,1024\n"
                                        "b,2,4,50,V100,32,65536\n"
                                        "c,3,1,10,,4,1024\n"
                                        "alien,4,1,10,A100,1,1\n"
                                        "d,5,2,10,T4|A100,4,1024\n";
  }
  ~ImpossibleJobs() override { fs::remove_all(folder_); }

  ExperimentSettings settings(const std::string& policy) const {
    return settings(policy,
                    "[[servers]]\ngpus = 2\ngpu_type = \"T4\"\ncpus = 96\nmemory = \"64GiB\"\n"
                    "[[servers]]\ngpus = 4\ngpu_type = \"V100\"\ncpus = 64\nmemory = \"128GiB\"\n");
  }
  ExperimentSettings settings(const std::string& policy, const std::string& servers) const {
    const Result<sim::Cluster> cluster = sim::parse_cluster_file(servers, "test");
    EXPECT_TRUE(cluster.ok());
    ExperimentSettings settings;
    settings.cluster = *cluster;
    settings.trace = (folder_ / "t.csv").string();
    settings.policies = {{policy, {}}};
    return settings;
  }
  static Result<ExperimentResult> run(const ExperimentSettings& settings) {
    return run_experiment(settings, [](const ExperimentProgress&) { return true; });
  }
  const fs::path folder_ = fs::path(testing::TempDir()) / ("impossible-" + std::to_string(::getpid()));
};

TEST_F(ImpossibleJobs, are_left_out_with_what_they_lack_under_every_policy) {
  for (const PolicyEntry& entry : policies()) {
    const auto result = run(settings(entry.info.name));
    ASSERT_TRUE(result.ok()) << result.error().message;
    EXPECT_EQ(result->jobs, 4);
    EXPECT_EQ(result->rows.front().metrics.unfinished, 0) << entry.info.name;
    ASSERT_EQ(result->impossible.size(), 2u);
    EXPECT_EQ(result->impossible.at(Lack::cpu).first, "huge");
    EXPECT_EQ(lack_text(result->impossible.at(Lack::cpu).why), "needs 120 CPUs, the largest server has 96");
    EXPECT_EQ(result->impossible.at(Lack::gpu_type).first, "alien");
  }
}

TEST_F(ImpossibleJobs, are_none_where_fewer_of_a_servers_gpus_have_enough_cpus_for_their_part) {
  struct {
    const char *servers, *rows;
  } const cases[] = {
      {"[[servers]]\ngpus = 4\ncpus = 4\n[[servers]]\ngpus = 2\ncpus = 8\n", "a,0,2,30,8,\nb,10,4,10,,\n"},
      {"[[servers]]\ncount = 2\ngpus = 4\ncpus = 4\n[[servers]]\ncount = 2\ngpus = 4\n",
       "a,0,10,600,20,\nb,10,1,10,,\nc,20,4,100,,\n"},
      {"[[servers]]\ncount = 2\ngpus = 4\ncpus = 4\n", "a,0,3,10,,ps 1 gpus=0 cpus=2|worker 1..3 cpus=1\n"}};
  for (const auto& [servers, rows] : cases) {
    std::ofstream(folder_ / "t.csv") << "job_id,submit_time_s,gpus,duration_s,cpus,roles\n" << rows;
    for (const PolicyEntry& entry : policies()) {
      const auto result = run(settings(entry.info.name, servers));
      ASSERT_TRUE(result.ok()) << result.error().message;
      EXPECT_EQ(result->rows.front().metrics.unfinished, 0) << entry.info.name << ": " << rows;
    }
  }
}

TEST_F(ImpossibleJobs, are_none_where_the_servers_say_how_many_cpus_they_have_and_not_how_much_memory) {
  std::ofstream(folder_ / "t.csv") << "job_id,submit_time_s,gpus,duration_s,mem_mib,roles\n"
                                      "a,0,1,5,,worker 1 cpus=6\nb,0,2,10,,worker 2 cpus=3\nc,0,1,1,1,\n";
  for (const PolicyEntry& entry : policies()) {
    const auto result = run(settings(entry.info.name, "[[servers]]\ngpus = 8\ncpus = 8\n"));
    ASSERT_TRUE(result.ok()) << result.error().message;
    EXPECT_EQ(result->rows.front().metrics.unfinished, 0) << entry.info.name;
  }
}

TEST_F(ImpossibleJobs, are_none_of_which_an_elastic_policy_can_give_the_least_they_ask_for) {
  std::ofstream(folder_ / "t.csv") << "job_id,submit_time_s,gpus,duration_s,gpus_min,gpus_max,on\n"
                                      "a,0,3,30,1,3,gpu1|gpu2\n";
  for (const PolicyEntry& entry : policies()) {
    if (!entry.info.elastic || entry.info.name == "gandiva" || entry.info.name == "auto") continue;  // they only grow
    const auto result = run(settings(entry.info.name, "[[servers]]\ncount = 3\ngpus = 1\n"));
    ASSERT_TRUE(result.ok()) << result.error().message;
    EXPECT_EQ(result->rows.front().metrics.unfinished, 0) << entry.info.name;
  }
}

TEST_F(ImpossibleJobs, are_none_that_are_wider_than_every_server_they_may_use) {
  const std::string servers =
      "[[servers]]\ncount = 3\ngpus = 4\ngpu_type = \"V100\"\n[[servers]]\nname = \"big\"\ngpus = 8\ngpu_type = "
      "\"A100\"\n";
  const char* const rows[] = {"a,0,8,100,,,V100,\n", "a,0,8,100,,,,big0\n", "a,0,8,100,7,10,V100,\n",
                              "a,0,7,100,,,,big0\n"};
  for (const char* row : rows) {
    std::ofstream(folder_ / "t.csv") << "job_id,submit_time_s,gpus,duration_s,gpus_min,gpus_max,gpu_type,not_on\n"
                                     << row << "b,1,8,100,,,A100,\nc,2,4,100,,,V100,\n";
    for (const PolicyEntry& entry : policies()) {
      const auto result = run(settings(entry.info.name, servers));
      ASSERT_TRUE(result.ok()) << result.error().message;
      EXPECT_EQ(result->jobs, 3) << row;
      EXPECT_EQ(result->rows.front().metrics.unfinished, 0) << entry.info.name << ": " << row;
    }
  }
}

TEST_F(ImpossibleJobs, under_one_policy_are_named_with_what_they_lack) {
  std::ofstream(folder_ / "t.csv") << "job_id,submit_time_s,gpus,duration_s,gpus_min,gpus_max,gpu_type\n"
                                      "a,0,4,100,1,4,A\nb,10,1,50,,,\n";
  const auto result = run(settings("fifo", "[[servers]]\ngpus = 2\ngpu_type = \"A\"\n[[servers]]\ngpus = 4\n"));
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result->rows.front().metrics.unfinished, 1);
  EXPECT_EQ(result->rows.front().first_unfinished, "a: under this policy it needs 4 GPUs, all servers together have 2");
}

TEST_F(ImpossibleJobs, are_an_error_if_the_user_wants_to_know) {
  ExperimentSettings strict = settings("fifo");
  strict.trace_options.oversize = trace::Oversize::fail;
  const auto result = run(strict);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, "trace-impossible");
}

TEST_F(ImpossibleJobs, for_a_server_that_is_lost_others_do_not_wait) {
  std::ofstream(folder_ / "t.csv") << "job_id,submit_time_s,gpus,duration_s,gpu_type,cpus,mem_mib\n"
                                      "wide,10,4,100,V100,1,1\n"
                                      "narrow,11,1,100,,1,1\n";
  ExperimentSettings lossy = settings("fifo");
  lossy.cluster.events = {{Instant::at_seconds(1), "gpu1", true}, {Instant::at_seconds(1000), "gpu1", false}};
  const auto result = run(lossy);
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result->rows.front().metrics.makespan_s, 1000 + 100 - 10);
  EXPECT_EQ(result->rows.front().metrics.avg_wait_s, (990 + 0) / 2.0);
}

}  // namespace
}  // namespace sl::study
