// Preemptive policies remember between decisions what they tried without success. On overloaded clusters they must
// decide like a policy that tries everything every time. (Not tiresias_gittins: its ranks depend on when it was last
// woken.)
#include <gtest/gtest.h>

#include <tuple>

#include "sim/world.h"
#include "support/forgetful.h"
#include "trace/workloads.h"

namespace sl::sim {
namespace {

struct Case {
  const char* workload;
  int stop_s;
};

class Remembering : public testing::TestWithParam<std::tuple<const char*, Case>> {};

TEST_P(Remembering, changes_no_start_and_no_end) {
  const auto& [policy, with] = GetParam();
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const auto trace = trace::make_workload(with.workload, seed, {});
    ASSERT_TRUE(trace.ok()) << trace.error().message;
    SimulationSettings settings;
    settings.cluster = Cluster::uniform(4, 8);
    settings.cluster.costs.stop = Duration::whole_seconds(with.stop_s);
    const auto one = simulate(*trace, std::move(*make_policy(policy)), settings);
    const auto other = simulate(*trace, std::make_unique<test::Forgetful>(policy, 1), settings);
    std::int64_t preemptions = 0;
    for (std::size_t i = 0; i < one.outcomes.size(); ++i) {
      EXPECT_EQ(one.outcomes[i].started, other.outcomes[i].started) << "job " << i + 1 << ", seed " << seed;
      ASSERT_EQ(one.outcomes[i].finished, other.outcomes[i].finished) << "job " << i + 1 << ", seed " << seed;
      preemptions += one.outcomes[i].preemptions;
    }
    EXPECT_GT(preemptions, 50) << "there is little to remember, seed " << seed;
  }
}

constexpr Case cases[] = {
    {"poisson:jobs=600,cluster_gpus=32,load=1.4,weight_16=5,weight_32=1", 0},
    {"poisson:jobs=600,cluster_gpus=32,load=1.4,weight_16=5,weight_32=1", 20},
};

INSTANTIATE_TEST_SUITE_P(Policies, Remembering,
                         testing::Combine(testing::Values("srtf", "srjf", "srsf", "tiresias"),
                                          testing::ValuesIn(cases)),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param)) + "_stop_" +
                                  std::to_string(std::get<1>(test.param).stop_s) + "_s";
                         });

// `lyapunov` keeps lengths and their sums, also those of jobs that fail and come back.
TEST(Lyapunov, decides_like_one_that_learns_its_backlog_anew_every_time) {
  const char* workload = "poisson:jobs=400,cluster_gpus=32,load=1.4,elastic=0.5,weight_16=5";
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const auto trace = trace::make_workload(workload, seed, {});
    ASSERT_TRUE(trace.ok()) << trace.error().message;
    SimulationSettings settings;
    settings.cluster = Cluster::uniform(4, 8);
    settings.cluster.faults.job_mtbf = Duration::whole_seconds(50'000);
    settings.cluster.faults.job_retries = 20;
    settings.seed = seed;
    const auto one = simulate(*trace, std::move(*make_policy("lyapunov")), settings);
    const auto other = simulate(*trace, std::make_unique<test::Forgetful>("lyapunov", 1), settings);
    for (std::size_t i = 0; i < one.outcomes.size(); ++i)
      ASSERT_EQ(one.outcomes[i].finished, other.outcomes[i].finished) << "job " << i + 1 << ", seed " << seed;
  }
}

// `default` keeps the order of its pods, also over jobs that fail and come back.
TEST(DefaultPods, decides_like_one_that_orders_its_pods_anew_every_time) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const auto trace = trace::make_workload("burst:jobs=300,cluster_gpus=32,load=1.2,burst_jobs=50", seed, {});
    ASSERT_TRUE(trace.ok()) << trace.error().message;
    SimulationSettings settings;
    settings.cluster = Cluster::uniform(4, 8);
    settings.cluster.faults.job_mtbf = Duration::whole_seconds(20'000);
    settings.cluster.faults.job_retries = 20;
    settings.seed = seed;
    const auto one = simulate(*trace, std::move(*make_policy("default")), settings);
    const auto other = simulate(*trace, std::make_unique<test::Forgetful>("default", 1), settings);
    std::int64_t failures = 0;
    for (std::size_t i = 0; i < one.outcomes.size(); ++i) {
      EXPECT_EQ(one.outcomes[i].started, other.outcomes[i].started) << "job " << i + 1 << ", seed " << seed;
      ASSERT_EQ(one.outcomes[i].finished, other.outcomes[i].finished) << "job " << i + 1 << ", seed " << seed;
      failures += one.outcomes[i].failures;
    }
    EXPECT_GT(failures, 20) << "seed " << seed;
  }
}

}  // namespace
}  // namespace sl::sim
