// What a policy costs grows with the number of jobs, not with its square, however many of them wait: bench/sim/growth.py
// measures how much exactly.
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <limits>
#include <string>

#include "policies/registry.h"
#include "sim/world.h"
#include "support/trace_rows.h"

namespace sl::sim {
namespace {

// All at once, on 16 servers of 8 GPUs: nearly all of them wait. A third is elastic, a third has a deadline.
trace::Trace burst(int jobs) {
  Random random(7);
  std::string rows;
  for (int i = 0; i < jobs; ++i) {
    const std::int64_t kind = random.integer(0, 99);
    const int gpus = kind < 60 ? 1 : kind < 80 ? 2 : kind < 92 ? 4 : 8;
    const bool is_elastic = random.chance(0.3);
    rows += std::to_string(i) + ",0," + std::to_string(gpus) + "," + std::to_string(random.integer(60, 7200)) + "," +
            (random.chance(0.3) ? std::to_string(random.integer(7200, 100 * jobs)) : "") + ",T" +
            std::to_string(random.integer(0, 15)) + "," + std::to_string(is_elastic ? std::max(1, gpus / 2) : gpus) +
            "," + std::to_string(is_elastic ? std::min(8, gpus * 2) : gpus) + ",u" +
            std::to_string(random.integer(0, 19)) + "\n";
  }
  return test::trace_of(rows, ",deadline_s,gpu_type,gpus_min,gpus_max,user");
}

Cluster sixteen_types() {
  Cluster cluster = Cluster::uniform(1, 8);
  cluster.kinds.resize(16, cluster.kinds.front());
  for (std::size_t type = 0; type < cluster.kinds.size(); ++type)
    cluster.kinds[type].gpu_type = "T" + std::to_string(type);
  return cluster;
}

// The least of several runs, because other processes can only add to it.
double cpu_s(const std::string& policy, const trace::Trace& trace, const Cluster& on) {
  double least = std::numeric_limits<double>::infinity();
  for (int run = 0; run < 3; ++run) {
    SimulationSettings settings;
    settings.cluster = on;
    const std::clock_t begin = std::clock();
    const SimulationResult result = simulate(trace, std::move(*make_policy(policy)), settings);
    least = std::min(least, static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
    EXPECT_EQ(result.unfinished, 0);
  }
  return least;
}

class Growth : public testing::TestWithParam<const char*> {};

// Eight times the jobs: in proportion that is a factor of 8, by the square 64.
TEST_P(Growth, of_the_cost_is_far_from_the_square_of_the_number_of_jobs) {
  const Cluster on = sixteen_types();
  const double few = std::max(0.002, cpu_s(GetParam(), burst(500), on));
  EXPECT_LT(cpu_s(GetParam(), burst(4000), on), 25 * few);
}

INSTANTIATE_TEST_SUITE_P(Policies, Growth,
                         testing::Values("fifo", "fifo_first_fit", "fifo_easy", "fifo_conservative", "round_robin",
                                         "sjf", "srtf", "srsf", "sgf", "edf", "priority", "tiresias",
                                         "tiresias_gittins", "elastic_fifo", "elastic_srjf", "elastic_srtf",
                                         "elastic_edf", "elastic_tiresias", "ffdl", "optimus", "coach", "fair_share",
                                         "drf", "gang", "default", "lyapunov"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace sl::sim
