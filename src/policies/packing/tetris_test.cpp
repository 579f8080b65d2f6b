// The worked examples of policies.md 7, by hand.
#include "policies/packing/tetris.h"

#include <gtest/gtest.h>

#include "support/workload.h"

namespace sl {
namespace {

using test::Cluster;
using test::gpus;
using test::Workload;

// q = (.25,.25); X has (.3,.3) left, Y (1,.5).
TEST(Tetris, dot_favours_the_emptier_server_and_cosine_the_one_of_the_same_shape) {
  const PackingVector demand{.25, .25}, x{.3, .3}, y{1, .5};
  EXPECT_NEAR(dot_alignment(x, demand), .15, 1e-12);
  EXPECT_NEAR(dot_alignment(y, demand), .375, 1e-12);
  EXPECT_NEAR(cosine_alignment(x, demand), 1, 1e-12);
  EXPECT_NEAR(cosine_alignment(y, demand), .9487, 1e-4);
  EXPECT_EQ(cosine_alignment({}, demand), 0);
}

// T1 (.40, 10), T2 (.30, 2): eps = .35 / 6.
TEST(Tetris, the_combined_score_prefers_the_job_with_less_left) {
  const auto scores = packing_scores({{.40, 10}, {.30, 2}}, 1);
  EXPECT_NEAR(scores[0], -.18333, 1e-5);
  EXPECT_NEAR(scores[1], .18333, 1e-5);
}

ServerDescription server(const std::string& name, int gpus, double cpus) {
  ServerDescription description;
  description.name = name;
  description.gpus = gpus;
  description.capacity[Resource::cpu] = cpus;
  return description;
}

JobRequest asking(int count, double cpus) {
  JobRequest request = gpus(count);
  request.demand[Resource::cpu] = cpus;
  return request;
}

// The score of one job must never be used for another, and only free resources may be taken (erratum 14).
TEST(Tetris, packs_complementary_jobs_onto_one_server_and_never_more_than_fits) {
  Cluster cluster({4}, "tetris", {{"srtf_weight", "0"}});
  cluster.feed(ServerJoined{server("0", 4, 16)}).feed(ServerDrained{"0", true});
  cluster.submit(1, asking(1, 12)).submit(2, asking(1, 12)).submit(3, asking(3, 4));
  cluster.feed(ServerDrained{"0", false});
  EXPECT_EQ(cluster.state(1), JobState::running);
  EXPECT_EQ(cluster.state(2), JobState::pending);
  EXPECT_EQ(cluster.state(3), JobState::running);
}

// Job 1 has the shape of job 4, so that shape was there first.
TEST(Tetris, of_jobs_over_several_servers_the_shorter_one_starts_first) {
  for (const double seconds : {50, 200}) {
    Cluster cluster({1, 1, 1}, "tetris");
    Workload load(cluster);
    JobRequest two = gpus(2), three = gpus(3);
    two.servers_max = three.servers_max = any_number_of_servers;
    load.job(1, 0, 10, two).job(2, 20, 100, three).job(3, 30, 100, three).job(4, 40, seconds, two).run(125);
    EXPECT_EQ(cluster.state(seconds < 100 ? 4 : 3), JobState::running) << seconds;
  }
}

TEST(Tetris, task_major_sends_each_job_in_turn_to_the_best_server) {
  Cluster cluster({4, 4}, "tetris", {{"order", "task_major"}});
  cluster.submit(1, gpus(3)).submit(2, gpus(1)).submit(3, gpus(4));
  EXPECT_EQ(cluster.where(1), "0:0,1,2");
  EXPECT_EQ(cluster.where(2), "1:0");  // dot: the emptier one
  EXPECT_EQ(cluster.state(3), JobState::pending);
}

TEST(Tetris, short_jobs_go_first_where_all_pack_alike) {
  Cluster cluster({1}, "tetris");
  JobRequest slow = gpus(1), quick = gpus(1);
  slow.estimate = Duration::whole_seconds(100);
  quick.estimate = Duration::whole_seconds(10);
  cluster.submit(1, slow).submit(2, slow).submit(3, quick).finish(1);
  EXPECT_EQ(cluster.state(3), JobState::running);
}

// The seed's workload: 20 servers of (16 cores, 64 GB, 3000 GB disk, 5 Gb/s), 40 jobs of 30 tasks of 260 s. Our own
// regeneration of ten draws gave a mean makespan of 5579 with a deviation of about 350 (policies.md 7).
TEST(Tetris, the_makespan_of_the_published_workload_is_within_three_deviations_of_our_regeneration) {
  Cluster cluster(std::vector<int>(20, 16), "tetris", {{"srtf_weight", "0"}});
  for (int s = 0; s < 20; ++s) {
    ServerDescription description = server(std::to_string(s), 16, 16);
    description.capacity[Resource::memory] = 64;
    description.capacity[Resource::disk] = 3000;
    description.capacity[Resource::network] = 5;
    cluster.feed(ServerJoined{description});
  }
  Random random(7);
  Workload load(cluster);
  double last = 0, first = 1e9;
  std::int64_t id = 1;
  for (int j = 0; j < 40; ++j) {
    JobRequest request = gpus(1);
    request.demand[Resource::cpu] = static_cast<double>(random.integer(1, 8));
    request.demand[Resource::memory] = static_cast<double>(random.integer(1, 32));
    request.demand[Resource::disk] = static_cast<double>(random.integer(1, 1500));
    request.demand[Resource::network] = static_cast<double>(random.integer(1, 2));
    const double arrives = std::round(random.uniform(0, 3000));
    first = std::min(first, arrives);
    for (int task = 0; task < 30; ++task) load.job(id++, arrives, 260, request);
  }
  load.run();
  for (std::int64_t i = 1; i < id; ++i) last = std::max(last, load.ended(i));
  EXPECT_NEAR(last - first, 5579, 3 * 350);
}

}  // namespace
}  // namespace sl
