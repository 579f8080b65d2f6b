// The worked examples of the policies that divide GPUs by count.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>
#include <numeric>

#include "policies/elastic/afs_l.h"
#include "support/cluster.h"

namespace sl {
namespace {

using test::Cluster;
using test::elastic;
using test::gpus;

JobRequest with_speedup(int min, int max, std::vector<double> speedup, double serial_s) {
  JobRequest request = elastic(min, max);
  auto model = std::make_shared<JobModel>();
  model->speed_curve = SpeedCurve(std::move(speedup));
  request.estimate = Duration::seconds(serial_s / model->speed_curve.speed_on(max));
  request.model = model;
  return request;
}

int gpus_of(const Cluster& cluster, std::int64_t id) { return cluster.job(id).allocation.count(); }

// G=6; A(1..4), B(2..4), C(4..8): A=3, B=3, C=0.
TEST(ElasticFifo, shares_what_is_left_in_order_and_never_gives_less_than_the_minimum) {
  Cluster cluster({6}, "fifo");
  cluster.obeys = false;  // no job starts before all three are there
  cluster.feed(ServerDrained{"0", true});
  cluster.submit(1, elastic(1, 4)).submit(2, elastic(2, 4)).submit(3, elastic(4, 8));
  cluster.obeys = true;
  cluster.use("elastic_fifo").feed(ServerDrained{"0", false});
  EXPECT_EQ(gpus_of(cluster, 1), 3);
  EXPECT_EQ(gpus_of(cluster, 2), 3);
  EXPECT_EQ(cluster.state(3), JobState::pending);
}

JobRequest with_counts(int min, int max, std::vector<int> counts) {
  JobRequest request = elastic(min, max);
  JobModel model;
  model.gpu_counts_allowed = std::move(counts);
  request.model = std::make_shared<const JobModel>(model);
  return request;
}

// G=6: 3 and 3 are their shares; A may have 1, 2 or 4, and B takes what that leaves.
TEST(ElasticFifo, a_number_that_a_job_may_not_have_becomes_the_next_lower_one_and_others_get_the_rest) {
  Cluster cluster({6}, "fifo");
  cluster.feed(ServerDrained{"0", true});
  cluster.submit(1, with_counts(1, 4, {1, 2, 4})).submit(2, elastic(1, 4));
  cluster.use("elastic_fifo").feed(ServerDrained{"0", false});
  EXPECT_EQ(gpus_of(cluster, 1), 2);
  EXPECT_EQ(gpus_of(cluster, 2), 4);
  cluster.at(1000).finish(2);
  EXPECT_EQ(gpus_of(cluster, 1), 4);
}

// Every policy that chooses numbers of GPUs, alone with a job that would take all 7.
TEST(EveryElasticPolicy, gives_numbers_that_the_job_may_have) {
  for (const PolicyEntry& entry : policies()) {
    Cluster cluster({7}, entry.info.name);
    JobRequest request = with_counts(1, 6, {1, 2, 4, 6});
    request.gpus = 4;
    request.deadline = Instant::at_seconds(1000);
    request.estimate = Duration::whole_seconds(3000);
    cluster.submit(1, request).submit(2, test::gpus(2));
    for (double at = 0; at < 3000; at += 200) {
      cluster.at(at).turn();
      const int has = gpus_of(cluster, 1);
      EXPECT_TRUE(has == 0 || has == 1 || has == 2 || has == 4 || has == 6) << entry.info.name << ": " << has;
      EXPECT_EQ(cluster.core.refusals(Refusal::wrong_gpu_count), 0u) << entry.info.name;
    }
  }
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

TEST(AfsL, a_short_job_behind_more_long_ones_than_the_cluster_holds_takes_part) {
  for (const int most : {1, 2}) {
    const std::vector<double> speedup = most == 1 ? std::vector{1.0} : std::vector{1.0, 1.5};
    Cluster cluster({2}, "fifo");
    cluster.feed(ServerDrained{"0", true});
    for (int id = 1; id <= 5; ++id) cluster.submit(id, with_speedup(1, most, speedup, 1000));
    cluster.submit(6, with_speedup(1, most, speedup, 10));
    cluster.use("afs_l").feed(ServerDrained{"0", false});
    EXPECT_EQ(gpus_of(cluster, 6), 1) << "at most " << most;
    EXPECT_EQ(gpus_of(cluster, 1), 1) << "the first of equal length";
  }
}

struct KnownJob {
  Share job;
  std::vector<double> speedup;  // by GPUs, from 0 on
};

KnownJob known_job(double work_s, std::vector<double> speedup, int least = 1) {
  KnownJob made;
  made.job.key.rank.minor = Duration::seconds(work_s).us;
  made.job.least = least;
  made.job.most = static_cast<int>(speedup.size()) - 1;
  made.speedup = std::move(speedup);
  return made;
}

double work_s(const KnownJob& one) { return Duration(one.job.key.rank.minor).to_seconds(); }

// policies.md 6.2 literally: every job that may get GPUs takes part in every round.
void divide_plainly(std::vector<KnownJob>& jobs, int gpus) {
  const auto speed = [](const KnownJob& one, int more) {
    return one.speedup[static_cast<std::size_t>(one.job.gpus == 0 && more > 0 ? one.job.least : one.job.gpus + more)];
  };
  const auto length = [&](const KnownJob& one) {
    return one.job.gpus == 0 ? std::numeric_limits<double>::infinity() : work_s(one) / speed(one, 0);
  };
  const auto beats = [&](const KnownJob& x, const KnownJob& c) {
    if (c.job.gpus == 0 && x.job.gpus == 0) return work_s(x) < work_s(c);
    const bool x_is_shorter = length(x) < length(c);
    const KnownJob &s = x_is_shorter ? x : c, &b = x_is_shorter ? c : x;
    const bool to_b = (speed(b, 1) - speed(b, 0)) / speed(b, 1) > (speed(s, 1) - speed(s, 0)) / speed(s, 0);
    return to_b != x_is_shorter;
  };
  while (gpus > 0) {
    KnownJob* champion = nullptr;
    for (KnownJob& x : jobs) {
      if (x.job.gpus >= x.job.most || x.job.step() > gpus) continue;
      if (!champion || beats(x, *champion)) champion = &x;
    }
    if (!champion) return;
    const int step = champion->job.step();
    champion->job.gpus += step;
    gpus -= step;
  }
}

std::vector<int> divided(const std::vector<KnownJob>& known, int gpus) {
  std::vector<Share> jobs;
  for (const KnownJob& one : known) jobs.push_back(one.job);
  std::vector<std::size_t> shortest_first(jobs.size());
  std::iota(shortest_first.begin(), shortest_first.end(), std::size_t{0});
  std::ranges::stable_sort(shortest_first, {}, [&](std::size_t n) { return jobs[n].key.rank.minor; });
  Supply supply(gpus);
  divide_by_tournament(jobs, shortest_first, supply,
                       [&](std::size_t n, int g) { return known[n].speedup[static_cast<std::size_t>(g)]; });
  std::vector<int> counts;
  for (const Share& job : jobs) counts.push_back(job.gpus);
  return counts;
}

// Against A the third GPU would go to D. But B takes it from A first, then C from B, and D does not get it from C.
TEST(AfsL, a_job_that_gets_nothing_itself_may_decide_between_two_others) {
  EXPECT_EQ(divided({known_job(100, {0, 1, 1.6, 2}), known_job(400, {0, 1, 2, 3}), known_job(200, {0, 1, 2, 3}),
                     known_job(300, {0, 1, 2, 3})},
                    3),
            (std::vector<int>{1, 0, 2, 0}));
}

KnownJob random_job() {
  const int work = *rc::gen::inRange(1, 6), least = *rc::gen::inRange(1, 4);
  const int most = least + *rc::gen::inRange(0, 4);
  std::vector<double> speedup = {0};
  for (int g = 1; g <= most; ++g) speedup.push_back(speedup.back() + *rc::gen::inRange(g == 1 ? 1 : 0, 6) * 0.25);
  return known_job(work * 100, std::move(speedup), least);
}

RC_GTEST_PROP(AfsL, divides_as_the_tournament_of_all_jobs_does, ()) {
  std::vector<KnownJob> jobs;
  for (int n = *rc::gen::inRange(0, 12); n > 0; --n) jobs.push_back(random_job());
  const int gpus = *rc::gen::inRange(0, 24);
  const std::vector<int> counts = divided(jobs, gpus);
  divide_plainly(jobs, gpus);
  for (std::size_t n = 0; n < jobs.size(); ++n) RC_ASSERT(counts[n] == jobs[n].job.gpus);
}

// One GPU is left on each server of four: there are two for job 4, but on no server.
TEST(ElasticFifo, where_no_job_may_pass_none_passes_one_for_which_there_is_no_place) {
  for (const auto& [policy, parameters] :
       {std::pair<std::string, GivenParameters>{"elastic_fifo", {{"admit", "strict"}}}, {"ffdl", {}}}) {
    Cluster cluster({4, 4, 4}, policy, parameters);
    for (const std::int64_t id : {1, 2, 3}) cluster.submit(id, gpus(3));
    cluster.submit(4, gpus(2)).submit(5, gpus(1));
    EXPECT_EQ(cluster.state(4), JobState::pending) << policy;
    EXPECT_EQ(cluster.state(5), JobState::pending) << policy;
    cluster.finish(1);
    EXPECT_EQ(cluster.state(4), JobState::running) << policy;
    EXPECT_EQ(cluster.state(5), JobState::running) << policy;
  }
  Cluster cluster({4, 4, 4}, "elastic_fifo");
  for (const std::int64_t id : {1, 2, 3}) cluster.submit(id, gpus(3));
  cluster.submit(4, gpus(2)).submit(5, gpus(1));
  EXPECT_EQ(cluster.state(5), JobState::running);
}

}  // namespace
}  // namespace sl
