// Jobs that --elastic makes elastic.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "study/experiment.h"

namespace sl::study {
namespace {

namespace fs = std::filesystem;

class ElasticJobs : public testing::Test {
 protected:
  ~ElasticJobs() override { fs::remove(trace_); }

  Metrics run(const std::string& policy, const std::string& rows, const Elastic& elastic, int servers, int gpus) const {
    std::ofstream(trace_) << "job_id,submit_time_s,gpus,duration_s,gpus_allowed,epochs\n" << rows;
    ExperimentSettings settings;
    settings.cluster = sim::Cluster::uniform(servers, gpus);
    settings.trace = trace_.string();
    settings.policies = {{policy, {}}};
    settings.elastic = elastic;
    const auto result = run_experiment(settings, [](const ExperimentProgress&) { return true; });
    EXPECT_TRUE(result.ok()) << result.error().message;
    return result.ok() ? result->rows.front().metrics : Metrics();
  }
  const fs::path trace_ = fs::path(testing::TempDir()) / ("elastic-" + std::to_string(::getpid()) + ".csv");
};

TEST_F(ElasticJobs, get_no_number_of_gpus_that_they_do_not_name) {
  for (const PolicyEntry& entry : policies()) {
    const Metrics metrics = run(entry.info.name, "a,0,10,5,2|10|14,\n", {.low = .5, .high = 2}, 4, 8);
    EXPECT_EQ(metrics.unfinished, 0) << entry.info.name;
  }
}

TEST_F(ElasticJobs, have_the_speeds_of_the_profile_whatever_else_they_state) {
  const Elastic elastic = {.low = 1, .high = 2, .profile = "speedup:1|1.25"};
  for (const char* row : {"a,0,1,100,,\n", "a,0,1,100,,10\n", "a,0,1,100,1|2,\n"})
    EXPECT_EQ(run("elastic_fifo", row, elastic, 1, 2).makespan_s, 80) << row;
}

}  // namespace
}  // namespace sl::study
