// The worked examples of policies.md 11.4 and the properties it promises.
#include "policies/elastic/lyapunov_choice.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <functional>
#include <numeric>
#include <set>

#include "support/workload.h"

namespace sl {
namespace {

using test::Cluster;
using test::elastic;

// tau 100 s: J1 C=100, J2 C=1000.
std::vector<LyapunovJob> two_jobs() { return {{1, 0, 1, {1, .9, .86667, .85}}, {10, 0, 1, {10, 5.4, 3.86667, 3.1}}}; }

// Of all jobs that wait.
std::vector<int> choice_among(const std::vector<LyapunovJob>& jobs, int gpus, const LyapunovSettings& settings) {
  double q = 0, z = 0;
  for (const LyapunovJob& job : jobs) {
    q += job.length;
    z += job.waited;
  }
  return lyapunov_choice(jobs, q, z, gpus, settings);
}

TEST(Lyapunov, the_worth_of_a_start_is_as_worked_out) {
  const auto jobs = two_jobs();
  const auto first = lyapunov_worth(jobs[0], 11, 0, {.v = 20});
  const auto second = lyapunov_worth(jobs[1], 11, 0, {.v = 20});
  EXPECT_NEAR(first[0], 8, 1e-3);
  EXPECT_NEAR(first[2], 10.667, 1e-3);
  EXPECT_NEAR(second[0], -28, 1e-3);
  EXPECT_NEAR(second[2], 94.667, 1e-3);
  EXPECT_NEAR(second[3], 110, 1e-3);
}

TEST(Lyapunov, a_large_v_gives_all_gpus_to_the_long_job_and_a_small_one_starts_both) {
  EXPECT_EQ(choice_among(two_jobs(), 4, {.v = 20}), (std::vector<int>{0, 4}));
  EXPECT_EQ(choice_among(two_jobs(), 4, {.v = 5}), (std::vector<int>{1, 3}));
}

TEST(Lyapunov, v_zero_starts_whatever_is_there) {
  EXPECT_EQ(choice_among(two_jobs(), 2, {.v = 0}), (std::vector<int>{1, 1}));
}

// Only J2 waits, one GPU is free, V = 20, slots of 10 s: it starts after 62 slots.
TEST(Lyapunov, waiting_ends_within_the_bound) {
  Cluster cluster({4}, "lyapunov", {{"v", "20"}, {"tau_s", "100"}, {"slot_s", "10"}});
  JobRequest three = test::gpus(3);
  three.capability = Capability::none;
  cluster.submit(1, three);
  EXPECT_EQ(cluster.state(1), JobState::running);
  JobRequest request = elastic(1, 4);
  JobModel model;
  model.speed_curve = SpeedCurve::from_run_times({1000, 540, 386.667, 310});
  request.estimate = Duration::whole_seconds(310);  // on four GPUs
  request.model = std::make_shared<const JobModel>(model);
  cluster.submit(2, request);
  int slots = 0;
  while (cluster.state(2) == JobState::pending && ++slots < 100) cluster.at(10 * slots).turn();
  EXPECT_EQ(slots, 62);
}

// The postponement of the example, with tau from the jobs instead of `tau_s`: tau depends on the length of the finished
// jobs; after 998 jobs of 100 s it is 100.9 s.
TEST(Lyapunov, the_unit_of_time_is_the_mean_length_of_the_latest_jobs) {
  const auto slots_waited = [](int finished, double length_s) {
    Cluster cluster({4}, "lyapunov", {{"v", "20"}, {"slot_s", "10"}});
    double now_s = 0;
    std::int64_t id = 1;
    for (; id <= finished; ++id) {
      cluster.submit(id, test::gpus(1));
      cluster.at(now_s += length_s).finish(id);
    }
    JobRequest three = test::gpus(3);
    three.estimate = Duration::seconds(length_s / 3);
    cluster.submit(id, three);
    JobRequest request = elastic(1, 4);
    JobModel model;
    model.speed_curve = SpeedCurve::from_run_times({1000, 540, 386.667, 310});
    request.estimate = Duration::whole_seconds(310);  // on four GPUs
    request.model = std::make_shared<const JobModel>(model);
    cluster.submit(id + 1, request);
    int slots = 0;
    while (cluster.state(id + 1) == JobState::pending && ++slots < 1000) cluster.at(now_s + 10 * slots).turn();
    return slots;
  };
  EXPECT_NEAR(slots_waited(998, 100), 62, 1);
  EXPECT_GT(slots_waited(998, 200), 62 + 10);
}

// J1 of the example: n=500 steps, 0.2 s per step on one GPU, 0.1 GB, 1.25 GB/s, ring.
TEST(Lyapunov, computing_and_communicating_give_the_times_of_the_example) {
  for (const auto& [gpus_max, expected] : {std::pair(1, 1), std::pair(4, 4)}) {
    Cluster cluster({4}, "lyapunov", {{"v", "1000"}, {"tau_s", "100"}});
    ServerDescription server;
    server.name = "0";
    server.gpus = 4;
    server.bandwidth_inside_bytes_per_s = 1.25e9;
    cluster.feed(ServerJoined{server});
    JobRequest request = elastic(1, gpus_max);
    JobModel model;
    model.steps_total = 500;
    model.batch_size = 100;
    model.step_time_per_sample_s = 0.002;
    model.parameter_bytes = 100'000'000;
    request.model = std::make_shared<const JobModel>(model);
    cluster.submit(1, request);
    EXPECT_EQ(cluster.job(1).allocation.count(), expected);  // an idle cluster starts it at once on its best number of
                                                             // GPUs
  }
}

// Overload: a long backlog makes every start as small as possible.
TEST(Lyapunov, a_long_backlog_starts_every_job_on_its_minimum) {
  std::vector<LyapunovJob> jobs(200, two_jobs()[1]);
  const auto chosen = choice_among(jobs, 16, {.v = 5});
  for (const int gpus : chosen) EXPECT_LE(gpus, 1);
  EXPECT_EQ(std::accumulate(chosen.begin(), chosen.end(), 0), 16);
}

// The knapsack compared with all possible choices.
RC_GTEST_PROP(LyapunovProperty, no_other_choice_is_worth_more, ()) {
  Random random(*rc::gen::arbitrary<std::uint64_t>());
  std::vector<LyapunovJob> jobs(static_cast<std::size_t>(random.integer(1, 5)));
  double q = 0, z = 0;
  for (LyapunovJob& job : jobs) {
    job.length = random.uniform(0.1, 5);
    job.waited = random.uniform(0, 2);
    job.least = static_cast<int>(random.integer(1, 2));
    for (std::int64_t n = random.integer(1, 3); n > 0; --n) job.time.push_back(random.uniform(0.1, job.length));
    q += job.length;
    z += job.waited;
  }
  const int gpus = static_cast<int>(random.integer(1, 6));
  const LyapunovSettings settings{random.uniform(0, 30), 0.1, random.chance(0.3)};
  double best = 0;
  const std::function<void(std::size_t, int, double)> all = [&](std::size_t i, int left, double worth) {
    best = std::max(best, worth);
    if (i == jobs.size()) return;
    all(i + 1, left, worth);
    const auto values = lyapunov_worth(jobs[i], q, z, settings);
    for (std::size_t o = 0; o < values.size(); ++o) {
      const int g = jobs[i].least + static_cast<int>(o);
      if (g <= left && values[o] > 0) all(i + 1, left - g, worth + values[o]);
    }
  };
  all(0, gpus, 0);
  const auto chosen = choice_among(jobs, gpus, settings);
  double worth = 0;
  int used = 0;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    used += chosen[i];
    if (chosen[i] > 0)
      worth += lyapunov_worth(jobs[i], q, z, settings)[static_cast<std::size_t>(chosen[i] - jobs[i].least)];
  }
  RC_ASSERT(used <= gpus);
  RC_ASSERT(std::abs(worth - best) < 1e-6);
}

TEST(Baselines, one_gpu_gives_the_minimum_and_random_gpu_the_same_number_after_a_change_of_policy) {
  Cluster cluster({8}, "one_gpu");
  cluster.submit(1, elastic(1, 4)).submit(2, elastic(2, 4));
  EXPECT_EQ(cluster.job(1).allocation.count(), 1);
  EXPECT_EQ(cluster.job(2).allocation.count(), 2);
  std::set<int> seen;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    CoreSettings settings;
    settings.seed = seed;
    Cluster random({4}, Cluster::make("random_gpu"), settings);
    random.submit(1, elastic(1, 4));
    seen.insert(random.job(1).allocation.count());
  }
  EXPECT_EQ(seen, (std::set<int>{1, 2, 3, 4}));
}

}  // namespace
}  // namespace sl
