// Max-min fairness: the linear program against figures computed by hand, and rounds.
#include "policies/fair/max_min_fractions.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <map>
#include <numeric>
#include <tuple>

#include "policies/fair/served_jobs.h"
#include "policy/linear_program.h"
#include "support/forgetful.h"
#include "support/workload.h"

namespace sl {
namespace {

using test::Cluster;
using test::gpus;
using test::Workload;

// max 3x + 5y, x <= 4, 2y <= 12, 3x + 2y <= 18: (2, 6).
TEST(LinearProgram, finds_the_best_corner) {
  LinearProgram program(2);
  program.set_objective(0, 3);
  program.set_objective(1, 5);
  program.add_row({{0, 1}}, 4);
  program.add_row({{1, 2}}, 12);
  program.add_row({{0, 3}, {1, 2}}, 18);
  const auto x = program.solve();
  ASSERT_TRUE(x);
  EXPECT_NEAR((*x)[0], 2, 1e-9);
  EXPECT_NEAR((*x)[1], 6, 1e-9);
}

TEST(LinearProgram, says_when_there_is_no_limit) {
  LinearProgram program(1);
  program.set_objective(0, 1);
  EXPECT_FALSE(program.solve());
}

// Beale's program cycles under the steepest-edge rule alone; its optimum is 1/20.
TEST(LinearProgram, does_not_go_round_in_circles) {
  LinearProgram program(4);
  for (const auto& [variable, c] : {std::pair(0, .75), std::pair(1, -150.0), std::pair(2, .02), std::pair(3, -6.0)})
    program.set_objective(static_cast<std::size_t>(variable), c);
  program.add_row({{0, .25}, {1, -60}, {2, -.04}, {3, 9}}, 0);
  program.add_row({{0, .5}, {1, -90}, {2, -.02}, {3, 3}}, 0);
  program.add_row({{2, 1}}, 1);
  const auto x = program.solve();
  ASSERT_TRUE(x);
  EXPECT_NEAR(.75 * (*x)[0] - 150 * (*x)[1] + .02 * (*x)[2] - 6 * (*x)[3], .05, 1e-9);
}

TEST(MaxMin, three_like_jobs_on_two_gpus_get_two_thirds_each) {
  const auto x = max_min_fractions({{3, 1, 1, {1}}}, {2});
  EXPECT_NEAR(x[0][0], 2.0 / 3, 1e-6);
}

TEST(MaxMin, a_job_of_twice_the_weight_gets_twice_as_much) {
  const auto x = max_min_fractions({{1, 1, 2, {1}}, {2, 1, 1, {1}}}, {1});
  EXPECT_NEAR(x[0][0], .5, 1e-4);
  EXPECT_NEAR(x[1][0], .25, 1e-4);
}

// One fast and one slow GPU. A is 4 times as fast on the fast one, B equally fast on both: A gets the fast one, B the
// slow one.
TEST(MaxMin, each_type_goes_to_the_job_that_gains_most_by_it) {
  const auto x = max_min_fractions({{1, 1, 1, {4, 1}}, {1, 1, 1, {1, 1}}}, {1, 1});
  EXPECT_GT(x[0][0], .6);
  EXPECT_GT(x[1][1], .6);
  const double a = (4 * x[0][0] + x[0][1]) / 2.5, b = x[1][0] + x[1][1];
  EXPECT_NEAR(a, 1.6, 1e-3);
  EXPECT_NEAR(b, 1, 1e-3);
}

RC_GTEST_PROP(MaxMinProperty, what_is_given_is_there_and_nobody_gets_less_than_an_equal_share, ()) {
  Random random(*rc::gen::arbitrary<std::uint64_t>());
  const auto types = static_cast<std::size_t>(random.integer(1, 3));
  std::vector<double> gpus_by_type;
  double total = 0;
  for (std::size_t j = 0; j < types; ++j) {
    gpus_by_type.push_back(static_cast<double>(random.integer(1, 16)));
    total += gpus_by_type.back();
  }
  std::vector<FairClass> classes(static_cast<std::size_t>(random.integer(1, 12)));
  double demand = 0;
  for (FairClass& c : classes) {
    c.jobs = static_cast<double>(random.integer(1, 20));
    c.gpus = static_cast<double>(random.integer(1, 4));
    for (std::size_t j = 0; j < types; ++j) c.speed.push_back(static_cast<double>(random.integer(1, 100)));
    demand += c.jobs * c.gpus;
  }
  const auto x = max_min_fractions(classes, gpus_by_type);
  for (std::size_t j = 0; j < types; ++j) {
    double used = 0;
    for (std::size_t c = 0; c < classes.size(); ++c) used += classes[c].jobs * classes[c].gpus * x[c][j];
    RC_ASSERT(used <= gpus_by_type[j] * (1 + 1e-6));
  }
  const double equal = std::min(1.0, total / demand);  // each job runs that much of its time on an even mix of types
  double least = 1e18, least_equal = 1e18;
  for (std::size_t c = 0; c < classes.size(); ++c) {
    double speed = 0, mean = 0, time = 0;
    for (std::size_t j = 0; j < types; ++j) {
      speed += classes[c].speed[j] * x[c][j];
      mean += classes[c].speed[j] * gpus_by_type[j] / total;
      time += x[c][j];
    }
    RC_ASSERT(time <= 1 + 1e-6);
    least = std::min(least, classes[c].gpus * speed / mean);
    least_equal = std::min(least_equal, classes[c].gpus * equal);
  }
  RC_ASSERT(least >= least_equal * (1 - 1e-3));
}

// As FairJobs ranks them: by time against what is due, then by what is missing, then by submission.
auto rank_of(const ServedJobs::Served& job, Instant now) {
  constexpr double due = .3;
  const double life_s = job.life_s(now);
  return std::tuple(-due / (job.had_s / life_s), job.had_s - due * life_s, job.submitted, job.id);
}

// Jobs come and leave, many of them alike, time passes, and chunks are visited and made anew, as decisions do it.
RC_GTEST_PROP(ServedJobsProperty, each_is_in_one_chunk_after_its_first_and_no_further_behind_than_it_says, ()) {
  Random random(*rc::gen::arbitrary<std::uint64_t>());
  ServedJobs jobs;
  std::map<std::uint32_t, ServedJobs::Served> waiting;  // by job
  const auto still_waits = [&](const ServedJobs::Served& job) {
    const auto at = waiting.find(job.job.value);
    return at != waiting.end() && at->second.entry == job.entry;
  };
  Instant now = Instant::at_seconds(1e6);
  const Instant burst = now;
  int with_first = 0;
  for (std::uint32_t step = 0; step < 3000; ++step) {
    now = now + Duration::seconds(random.uniform() * 60);
    const auto job = static_cast<std::uint32_t>(random.integer(0, 2000));
    if (random.uniform() < .7) {
      const bool of_burst = random.uniform() < .7;
      const double had_s = of_burst                 ? 350.0 * static_cast<double>(random.integer(1, 3))
                           : random.uniform() < .05 ? 0
                                                    : std::pow(10, random.uniform() * 6 - 1);
      const Instant submitted = of_burst ? burst : now - Duration::seconds(random.uniform() * 1e6);
      waiting[job] = {JobIndex(job), step, submitted, JobId(job + 1), had_s};
      jobs.add(waiting[job], now);
    } else {
      waiting.erase(job);
    }
    if (step % 20 != 0) continue;
    std::map<std::uint32_t, int> found;
    for (ServedJobs::Chunk& chunk : jobs.chunks(now, still_waits)) {
      if (chunk.first()) ++with_first;
      for (const ServedJobs::Served& one : chunk.jobs()) {
        if (!still_waits(one)) continue;
        ++found[one.job.value];
        RC_ASSERT(one.behind(now) <= chunk.at_most(now) * (1 + 1e-9));
        if (chunk.first()) RC_ASSERT(rank_of(*chunk.first(), now) <= rank_of(one, now));
      }
      if (random.uniform() < .2) jobs.visit(chunk, now, still_waits, [](const ServedJobs::Served&) {});
    }
    RC_ASSERT(found.size() == waiting.size());
    for (const auto& [index, times] : found) RC_ASSERT(times == 1);
  }
  RC_ASSERT(with_first > 0);
}

// After a burst thousands of jobs have run equally long. Whoever wants the first few must not look at all of them.
TEST(ServedJobs, of_jobs_that_are_alike_few_chunks_hold_the_first) {
  Random random(7);
  std::vector<std::int64_t> ids(10'000);
  std::iota(ids.begin(), ids.end(), 0);
  for (std::size_t i = ids.size(); i > 1; --i)
    std::swap(ids[i - 1], ids[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(i) - 1))]);
  const Instant now = Instant::at_seconds(1e6);
  ServedJobs jobs;
  for (const std::int64_t id : ids)
    jobs.add({JobIndex(static_cast<std::uint32_t>(id)), 0, now - Duration::whole_seconds(1000), JobId(id), 350}, now);
  int may_hold_them = 0;
  for (const ServedJobs::Chunk& chunk : jobs.chunks(now, [](const ServedJobs::Served&) { return true; })) {
    ASSERT_TRUE(chunk.first());
    if (chunk.first()->id.value < 64) ++may_hold_them;
  }
  EXPECT_LE(may_hold_them, 3);
}

// Three jobs of 720 s, two GPUs, rounds of 360 s: no job waits more than one round at a time.
TEST(MaxMin, rounds_realize_the_fractions) {
  Cluster cluster({2}, "max_min");
  Workload load(cluster);
  load.job(1, 0, 720, gpus(1)).job(2, 0, 720, gpus(1)).job(3, 0, 720, gpus(1)).run();
  EXPECT_EQ(load.ended(1), 720);
  EXPECT_EQ(load.ended(2), 1080);
  EXPECT_EQ(load.ended(3), 1080);
}

// At 720 s jobs 1 and 2 have had a round each, job 3 none.
TEST(MaxMin, a_job_that_has_never_run_goes_before_older_ones_that_have) {
  Cluster cluster({1}, "max_min");
  Workload load(cluster);
  load.job(1, 0, 3600, gpus(1)).job(2, 10, 3600, gpus(1)).job(3, 500, 3600, gpus(1)).run(725);
  EXPECT_EQ(cluster.state(3), JobState::running);
}

// Server 0 has a fast GPU (type 0), server 1 a slow one (type 1).
struct FastAndSlow : Cluster {
  FastAndSlow() : Cluster({1, 1}, "max_min") {
    for (std::uint32_t i = 0; i < 2; ++i) {
      ServerDescription server;
      server.name = std::to_string(i);
      server.gpus = 1;
      server.gpu_type = GpuTypeIndex(i);
      feed(ServerJoined{server});
    }
  }
};

JobRequest with_speeds(double fast, double slow) {
  JobRequest request = test::elastic(1, 1);
  JobModel model;
  model.speed_by_gpu_type = {{GpuTypeIndex(0), fast, {}}, {GpuTypeIndex(1), slow, {}}};
  request.model = std::make_shared<const JobModel>(std::move(model));
  return request;
}

// The first job gains nothing from the fast GPU, the second much. Without their speeds the first keeps the fast one.
TEST(MaxMin, speeds_of_a_profile_bring_each_job_to_its_type) {
  FastAndSlow cluster;
  cluster.submit(1, with_speeds(1, 1)).submit(2, with_speeds(4, 1));
  int fast_rounds = 0;
  for (int round = 1; round <= 10; ++round) {
    cluster.at(360.0 * round).turn();
    fast_rounds += cluster.where(2) == "0:0";
    EXPECT_EQ(cluster.state(1), JobState::running);
  }
  EXPECT_GE(fast_rounds, 8);
}

// Two equal jobs: each is due half of its time on either GPU, so they change places every round.
TEST(MaxMin, time_counts_by_type_so_that_like_jobs_change_places) {
  FastAndSlow cluster;
  cluster.submit(1, with_speeds(4, 1)).submit(2, with_speeds(4, 1));
  int rounds_on_fast[3] = {0, 0, 0};
  for (int round = 1; round <= 20; ++round) {
    cluster.at(360.0 * round).turn();
    for (const int job : {1, 2}) rounds_on_fast[job] += cluster.where(job) == "0:0";
  }
  EXPECT_NEAR(rounds_on_fast[1], 10, 2);
  EXPECT_NEAR(rounds_on_fast[2], 10, 2);
}

// One GPU, three like jobs submitted at once, the last id first. From the fourth round on they have run equally long.
TEST(MaxMin, jobs_that_are_due_the_same_take_turns_in_order_of_submission_then_id) {
  Cluster cluster({1}, "max_min");
  for (const int job : {3, 2, 1}) cluster.submit(job, test::elastic(1, 1));
  for (int round = 0; const int expected : {3, 1, 2, 1, 2, 3}) {
    cluster.at(360.0 * round++).turn();
    for (const int job : {1, 2, 3})
      EXPECT_EQ(cluster.state(job) == JobState::running, job == expected) << "round " << round << ", job " << job;
  }
}

// Job 2 wants both GPUs, of which job 1 keeps one. Job 3 was like job 2, so it had to wait behind it.
TEST(MaxMin, a_job_whose_number_of_gpus_is_edited_waits_no_longer_with_those_it_was_like) {
  Cluster cluster({2}, "max_min");
  cluster.submit(1, gpus(1)).submit(2, gpus(2)).submit(3, gpus(2));
  EXPECT_EQ(cluster.state(3), JobState::pending);
  cluster.feed(JobEdited{.job = JobId(3), .gpus_min = 1, .gpus_max = 1, .gpus = 1});
  EXPECT_EQ(cluster.state(3), JobState::running);
}

// Where each job ran in each round, while jobs come, end, are edited, and report how fast they are on a type, also when
// they have stopped meanwhile, and a server joins.
std::vector<std::string> random_rounds(std::uint64_t seed, bool forgets) {
  Random random(seed);
  Cluster cluster({2, 3}, forgets ? std::make_unique<test::Forgetful>("max_min", 1) : Cluster::make("max_min"));
  for (std::uint32_t i = 0; i < 2; ++i) {
    ServerDescription server = cluster.core.servers()[ServerIndex(i)].description;
    server.gpu_type = GpuTypeIndex(i);
    cluster.feed(ServerJoined{server});
  }
  std::vector<std::string> places;
  std::int64_t last = 0;
  for (int step = 1; step <= 60; ++step) {
    cluster.at(90.0 * step);
    if (step == 30) {
      ServerDescription server = cluster.core.servers()[ServerIndex(0)].description;
      server.name = "late";
      cluster.feed(ServerJoined{server});
    }
    const std::int64_t job = random.integer(1, 6) + std::max<std::int64_t>(0, last - 6);
    const double chance = random.uniform();
    if (chance < .3) {
      const int wide = static_cast<int>(random.integer(1, 3));
      JobRequest request = test::elastic(1, wide);
      request.user_weight = static_cast<double>(random.integer(1, 2));
      cluster.submit(++last, std::move(request));
    } else if (job > last || !cluster.has(job) || cluster.state(job) >= JobState::succeeded) {
      cluster.turn();
    } else if (chance < .5) {
      cluster.feed(JobEdited{.job = JobId(job), .gpus = static_cast<int>(random.integer(1, 2))});
    } else if (chance < .9) {
      SpeedSample speed;
      speed.gpu_type = GpuTypeIndex(static_cast<std::uint32_t>(random.integer(0, 1)));
      speed.steps_per_s = static_cast<double>(random.integer(1, 9));
      cluster.feed(AttemptProgressed{.job = JobId(job), .attempt = cluster.job(job).attempt, .speed = speed});
    } else if (cluster.state(job) == JobState::running) {
      cluster.finish(job);
    }
    for (std::int64_t id = 1; id <= last; ++id) places.push_back(cluster.has(id) ? cluster.where(id) : "");
  }
  return places;
}

RC_GTEST_PROP(MaxMinProperty, edits_and_speeds_count_at_once_as_if_all_jobs_were_read_anew, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  RC_ASSERT(random_rounds(seed, false) == random_rounds(seed, true));
}

}  // namespace
}  // namespace sl
