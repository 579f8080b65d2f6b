// The worked examples of the policies that share GPUs out by count.
#include <gtest/gtest.h>

#include "support/cluster.h"

namespace sl {
namespace {

using test::Cluster;
using test::elastic;

JobRequest with_speedup(int min, int max, std::vector<double> speedup, double serial_s) {
  JobRequest request = elastic(min, max);
  auto model = std::make_shared<JobModel>();
  model->speedup = speedup;
  for (const double s : speedup) model->run_time_s.push_back(serial_s / s);
  request.model = model;
  return request;
}

int gpus_of(const Cluster& cluster, std::int64_t id) { return cluster.job(id).allocation.count(); }

// G=6; A(1..4), B(2..4), C(4..8): A=3, B=3, C=0.
TEST(ElasticFifo, shares_what_is_left_in_order_and_never_gives_less_than_the_minimum) {
  Cluster cluster({6}, "fifo");
  cluster.obeys = false;  // nobody starts before all three are there
  cluster.feed(ServerDrained{"0", true});
  cluster.submit(1, elastic(1, 4)).submit(2, elastic(2, 4)).submit(3, elastic(4, 8));
  cluster.obeys = true;
  cluster.use("elastic_fifo").feed(ServerDrained{"0", false});
  EXPECT_EQ(gpus_of(cluster, 1), 3);
  EXPECT_EQ(gpus_of(cluster, 2), 3);
  EXPECT_EQ(cluster.state(3), JobState::pending);
}

// 3 GPUs, A: W=100, s=(1,1.6,2.0), B: W=300, s=(1,1.9,2.7): A=2, B=1.
TEST(AfsL, balances_the_shorter_job_against_the_more_efficient_one) {
  Cluster cluster({3}, "fifo");
  cluster.feed(ServerDrained{"0", true});
  cluster.submit(1, with_speedup(1, 3, {1, 1.6, 2.0}, 100)).submit(2, with_speedup(1, 3, {1, 1.9, 2.7}, 300));
  cluster.use("afs_l").feed(ServerDrained{"0", false});
  EXPECT_EQ(gpus_of(cluster, 1), 2);
  EXPECT_EQ(gpus_of(cluster, 2), 1);
}

}  // namespace
}  // namespace sl
