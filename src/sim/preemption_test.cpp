// Preemptive policies remember between decisions what they tried without success. On overloaded clusters they must
// decide like a policy that tries everything every time.
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
                         testing::Combine(testing::Values("srtf", "srjf", "srsf", "tiresias", "tiresias_gittins"),
                                          testing::ValuesIn(cases)),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param)) + "_stop_" +
                                  std::to_string(std::get<1>(test.param).stop_s) + "_s";
                         });

// Jobs are stopped for their CPUs, while GPUs are free: the job that they make room for must be promised what they leave.
// The last job of each trace is the urgent one.
struct ForCpus {
  const char* cluster;
  const char* jobs;
  std::vector<const char*> policies;
};

TEST(Preemption, for_cpus_is_decided_once_and_in_time) {
  const std::vector<ForCpus> cases = {
      {"[[servers]]\ncount = 1\ngpus = 4\ncpus = 16\n",
       "s1,0,1,50,,,,,\ns2,0,1,50,,,,,\nb,0,1,1000,,8,,,\na,0,1,900,,8,,,\nhi,200,2,100,400,4,5,,\n",
       {"edf", "elastic_edf", "srtf", "srsf", "srjf", "priority"}},
      {"[[servers]]\ncount = 1\ngpus = 8\ncpus = 8\n",  // a GPU of each of two
       "a,0,2,4000,100000,4,0,,\nb,0,2,4000,100000,4,0,,\nhi,200,2,100,400,8,5,,\n",
       {"edf", "elastic_edf", "srtf", "srsf", "srjf", "priority"}},
      {"[[servers]]\ncount = 2\ngpus = 4\ncpus = 10\n",  // its first member needs most of them
       "f0,0,3,5000,,4,9,,gpu0\nv1,1,1,4000,,8,0,,\nhi,200,4,100,,,5,chief 1 cpus=8|worker 3 cpus=1,\n",
       {"priority"}}};
  for (const ForCpus& each : cases) {
    for (const char* policy : each.policies) {
      for (const int stop_s : {0, 60}) {
        const auto trace = trace::parse_trace(
            std::string("job_id,submit_time_s,gpus,duration_s,deadline_s,cpus,priority,roles,on\n") + each.jobs, {});
        ASSERT_TRUE(trace.ok()) << trace.error().message;
        SimulationSettings settings;
        settings.cluster = std::move(*parse_cluster_file(each.cluster, ""));
        settings.cluster.costs.stop = Duration::whole_seconds(stop_s);
        const auto result = simulate(*trace, std::move(*make_policy(policy)), settings);
        EXPECT_EQ(result.decisions_refused, 0) << policy << '\n' << each.jobs;
        EXPECT_LE(result.outcomes.back().started, Instant::at_seconds(200 + stop_s)) << policy << '\n' << each.jobs;
      }
    }
  }
}

// Other policies keep what they know of waiting jobs in order: of lengths, classes, pods. Jobs that fail and come back
// take their old places.
struct Kept {
  const char* policy;
  const char* workload;
  const char* cluster = "[[servers]]\ncount = 4\ngpus = 8\n";
};

class Keeping : public testing::TestWithParam<Kept> {};

TEST_P(Keeping, decides_like_one_that_learns_all_anew_every_time) {
  const Kept& with = GetParam();
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const auto trace = trace::make_workload(with.workload, seed, {});
    ASSERT_TRUE(trace.ok()) << trace.error().message;
    SimulationSettings settings;
    settings.cluster = std::move(*parse_cluster_file(with.cluster, ""));
    settings.cluster.faults.job_mtbf = Duration::whole_seconds(20'000);
    settings.cluster.faults.job_retries = 20;
    settings.seed = seed;
    const auto one = simulate(*trace, std::move(*make_policy(with.policy)), settings);
    const auto other = simulate(*trace, std::make_unique<test::Forgetful>(with.policy, 1), settings);
    std::int64_t failures = 0;
    for (std::size_t i = 0; i < one.outcomes.size(); ++i) {
      EXPECT_EQ(one.outcomes[i].started, other.outcomes[i].started) << "job " << i + 1 << ", seed " << seed;
      ASSERT_EQ(one.outcomes[i].finished, other.outcomes[i].finished) << "job " << i + 1 << ", seed " << seed;
      failures += one.outcomes[i].failures;
    }
    EXPECT_GT(failures, 20) << "seed " << seed;
  }
}

constexpr const char* poisson = "poisson:jobs=400,cluster_gpus=32,load=1.4,elastic=0.5,weight_16=5";
constexpr const char* bursts = "burst:jobs=300,cluster_gpus=32,load=1.2,burst_jobs=50";
constexpr const char* three_types =
    "[[servers]]\ngpu_type = \"V100\"\n[[servers]]\ngpu_type = \"P100\"\nspeed = 0.6\n"
    "[[servers]]\ngpu_type = \"K80\"\nspeed = 0.3\n";

INSTANTIATE_TEST_SUITE_P(Policies, Keeping,
                         testing::Values(Kept{"lyapunov", poisson}, Kept{"default", bursts}, Kept{"max_min", poisson},
                                         Kept{"max_min", "gavel:jobs=150,interval_s=300", three_types},
                                         Kept{"elastic_tiresias", poisson}, Kept{"elastic_edf", poisson}),
                         [](const auto& test) {
                           return std::string(test.param.policy) + "_" + std::to_string(test.index);
                         });

}  // namespace
}  // namespace sl::sim
