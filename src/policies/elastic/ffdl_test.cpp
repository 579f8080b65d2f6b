// The worked example of policies.md 6.1, and the exact division compared with all possible ones.
#include "policies/elastic/ffdl.h"

#include <gtest/gtest.h>

#include "support/workload.h"

namespace sl {
namespace {

using test::Cluster;
using test::elastic;
using test::gpus;
using test::with_speedup;

// G=4: A (1,1.8,2.4,2.8), B (1,1.5,1.7,1.8): A=3, B=1.
TEST(Ffdl, the_sum_of_speedups_is_largest) {
  for (const char* exact_gpus : {"512", "1"}) {  // both ways: the speedups are concave
    Cluster cluster({4}, "fifo");
    cluster.feed(ServerDrained{"0", true});
    cluster.submit(1, with_speedup(elastic(1, 4), {1, 1.8, 2.4, 2.8}));
    cluster.submit(2, with_speedup(elastic(1, 4), {1, 1.5, 1.7, 1.8}));
    cluster.use("ffdl", {{"exact_gpus", exact_gpus}}).feed(ServerDrained{"0", false});
    EXPECT_EQ(cluster.job(1).allocation.count(), 3) << exact_gpus;
    EXPECT_EQ(cluster.job(2).allocation.count(), 1) << exact_gpus;
  }
}

// Minimums count (erratum 9), and the first job whose minimum does not fit ends the line.
TEST(Ffdl, minima_are_kept_and_nobody_passes_a_job_whose_minimum_does_not_fit) {
  Cluster cluster({4}, "fifo");
  cluster.feed(ServerDrained{"0", true});
  cluster.submit(1, elastic(2, 4)).submit(2, elastic(3, 4)).submit(3, elastic(1, 4));
  cluster.use("ffdl").feed(ServerDrained{"0", false});
  EXPECT_EQ(cluster.job(1).allocation.count(), 4);
  EXPECT_EQ(cluster.state(2), JobState::pending);
  EXPECT_EQ(cluster.state(3), JobState::pending);
}

}  // namespace
}  // namespace sl
