#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <map>

#include "policies/registry.h"
#include "study/metrics.h"
#include "support/trace_rows.h"

namespace sl::sim {
namespace {

using test::trace_of;

Cluster uniform(int servers, int gpus) { return Cluster::uniform(servers, gpus); }

SimulationResult run(const trace::Trace& trace, const std::string& policy, const Cluster& cluster,
                     Duration restart_cost = {}) {
  SimulationSettings settings;
  settings.cluster = cluster;
  settings.cluster.costs.restart = restart_cost;
  return simulate(trace, std::move(*make_policy(policy)), settings);
}

// Two jobs on one GPU, both at 0, 10 s each, FIFO: makespan 20, mean JCT 15, mean wait 5, allocation 1 (policies.md
// 14).
TEST(Simulation, two_jobs_on_one_gpu_by_hand) {
  const trace::Trace trace = trace_of("a,0,1,10\nb,0,1,10\n");
  const study::Metrics m = study::measure(trace, run(trace, "fifo", uniform(1, 1)), uniform(1, 1));
  EXPECT_DOUBLE_EQ(m.makespan_s, 20);
  EXPECT_DOUBLE_EQ(m.avg_jct_s, 15);
  EXPECT_DOUBLE_EQ(m.avg_wait_s, 5);
  EXPECT_DOUBLE_EQ(m.gpu_allocation_pct, 100);
}

TEST(Simulation, fifo_lets_the_head_block_and_first_fit_does_not) {
  const trace::Trace trace = trace_of("a,0,3,10\nb,1,2,10\nc,2,1,10\n");
  EXPECT_EQ(run(trace, "fifo", uniform(1, 4)).outcomes[2].started, Instant::at_seconds(10));
  EXPECT_EQ(run(trace, "fifo_first_fit", uniform(1, 4)).outcomes[2].started, Instant::at_seconds(2));
}

TEST(Simulation, a_job_wider_than_a_server_takes_several_and_others_stay_on_one) {
  const trace::Trace trace = trace_of("a,0,6,10\nb,0,4,10\n");
  EXPECT_EQ(run(trace, "fifo", uniform(2, 4)).outcomes[1].started,
            Instant::at_seconds(10));  // 2 free, but not on one server
  EXPECT_EQ(run(trace, "fifo", uniform(3, 4)).outcomes[1].started, Instant::at_seconds(0));
}

// As with published simulators. The jobs come late, so that a time that is not set is far from them.
TEST(Simulation, where_it_is_not_known_when_gpus_were_given_back_the_last_end_counts) {
  const trace::Trace trace = trace_of("a,1000,1,10\nb,1000,1,10\n");
  SimulationResult result = run(trace, "fifo", uniform(1, 1));
  result.busy_until = {};
  EXPECT_DOUBLE_EQ(study::measure(trace, result, uniform(1, 1)).gpu_allocation_pct, 100);
}

// b asks at 100 s for all eight GPUs and has to wait until a has stopped at 1,100 s: seven of them do nothing until then.
TEST(Simulation, gpus_that_wait_for_others_of_their_job_are_not_allocated) {
  Cluster cluster = uniform(1, 8);
  cluster.costs.stop = Duration::whole_seconds(1000);
  const trace::Trace trace = trace_of("a,0,1,5000\nb,100,8,10\n");
  const study::Metrics m = study::measure(trace, run(trace, "srtf", cluster), cluster);
  EXPECT_DOUBLE_EQ(m.makespan_s, 6010);
  EXPECT_NEAR(m.gpu_allocation_pct, 100 * (6000 + 80) / (8 * 6010.0), 1e-6);
  EXPECT_NEAR(m.gpu_utilization_pct, 100 * (5000 + 80) / (8 * 6010.0), 1e-6);
}

TEST(Simulation, gpus_of_a_job_that_fails_late_are_not_more_than_all) {
  Cluster cluster = uniform(1, 2);
  cluster.faults.job_mtbf = Duration::whole_seconds(18'000);
  const trace::Trace trace = trace_of("a,0,1,10\nb,0,1,1000000\n");
  const SimulationResult result = run(trace, "fifo", cluster);
  ASSERT_EQ(result.failed, 1);
  const study::Metrics m = study::measure(trace, result, cluster);
  EXPECT_DOUBLE_EQ(m.makespan_s, 10);
  EXPECT_GT(m.gpu_allocation_pct, 50);
  EXPECT_LE(m.gpu_allocation_pct, 51);
}

TEST(Simulation, without_a_finished_job_there_is_no_mean) {
  Cluster cluster = uniform(1, 1);
  cluster.events.push_back({Instant{0}, "gpu0", true});
  const trace::Trace trace = trace_of("a,0,1,10\n");
  const study::Metrics m = study::measure(trace, run(trace, "fifo", cluster), cluster);
  EXPECT_EQ(m.jobs, 0);
  EXPECT_TRUE(std::isnan(m.avg_jct_s) && std::isnan(m.makespan_s) && std::isnan(m.jain_fairness));
}

// c waits neither for GPUs nor for b, which does; on one server that says what CPUs it has they share those.
TEST(Simulation, jobs_without_gpus_run_beside_the_others) {
  trace::TraceOptions keep;
  keep.keeps_without_gpus = true;
  const trace::Trace trace = trace_of("a,0,1,10,\nb,1,1,10,\nc,2,0,10,5\nd,3,0,10,5\ne,4,0,10,\n", ",cpus", keep);
  const SimulationResult free = run(trace, "srtf", uniform(1, 1));
  EXPECT_EQ(free.outcomes[1].started, Instant::at_seconds(10));
  EXPECT_EQ(free.outcomes[2].started, Instant::at_seconds(2));
  EXPECT_EQ(free.outcomes[3].started, Instant::at_seconds(3));
  EXPECT_DOUBLE_EQ(study::measure(trace, free, uniform(1, 1)).gpu_allocation_pct, 100);
  Cluster small = uniform(1, 1);
  small.kinds.front().capacity[Resource::cpu] = 8;
  const SimulationResult shared = run(trace, "srtf", small);
  EXPECT_EQ(shared.outcomes[2].started, Instant::at_seconds(2));
  EXPECT_EQ(shared.outcomes[3].started, Instant::at_seconds(12));
  EXPECT_EQ(shared.outcomes[4].started, Instant::at_seconds(12)) << "it counts as one CPU; the server is kept for d";
}

TEST(Simulation, jobs_without_gpus_have_no_part_in_the_fairness_of_the_others) {
  trace::TraceOptions keep;
  keep.keeps_without_gpus = true;
  const auto measured = [&](const std::string& rows) {
    const trace::Trace trace = trace_of(rows, "", keep);
    return study::measure(trace, run(trace, "fifo", uniform(1, 1)), uniform(1, 1));
  };
  const std::string two = "a,0,1,100\nb,0,1,100\n", others = "c,0,0,50\nd,0,0,500\n";
  const study::Metrics alone = measured(two), beside = measured(two + others);
  EXPECT_DOUBLE_EQ(alone.max_finish_time_fairness, 4.0 / 3) << "b shares with a for 100 of its 200 s";
  EXPECT_DOUBLE_EQ(alone.unfair_jobs_pct, 50);
  EXPECT_EQ(beside.max_finish_time_fairness, alone.max_finish_time_fairness);
  EXPECT_EQ(beside.p95_finish_time_fairness, alone.p95_finish_time_fairness);
  EXPECT_EQ(beside.unfair_jobs_pct, alone.unfair_jobs_pct);
  EXPECT_EQ(beside.jain_fairness, alone.jain_fairness);
  EXPECT_TRUE(std::isnan(measured(others).jain_fairness));
}

// b could still end by 160 until 60; it becomes late while it waits, and c, which has no deadline, goes first.
TEST(Simulation, edf_serves_a_job_that_became_late_while_it_waited_after_all_others) {
  const trace::Trace trace = trace_of("a,0,1,100,150\nb,1,1,100,160\nc,2,1,10,\n", ",deadline_s");
  const SimulationResult result = run(trace, "edf", uniform(1, 1));
  EXPECT_EQ(result.outcomes[2].started, Instant::at_seconds(100));
  EXPECT_EQ(result.outcomes[1].started, Instant::at_seconds(110));
}

// Two GPUs are divided among a and b, which are first; b finds no GPU of its type, so c gets the other one.
TEST(Simulation, elastic_policies_give_gpus_that_were_no_use_to_the_first_jobs_to_the_next) {
  Cluster cluster = uniform(1, 1);
  cluster.kinds.resize(2, cluster.kinds.front());
  cluster.kinds[0].gpu_type = "T0";
  cluster.kinds[1].gpu_type = "T1";
  const trace::Trace trace = trace_of("a,0,1,10,T0\nb,0,1,10,T0\nc,0,1,10,T1\n", ",gpu_type");
  for (const char* policy : {"elastic_fifo", "elastic_srjf", "elastic_srtf"}) {
    const SimulationResult result = run(trace, policy, cluster);
    EXPECT_EQ(result.outcomes[1].started, Instant::at_seconds(10)) << policy;
    EXPECT_EQ(result.outcomes[2].started, Instant::at_seconds(0)) << policy;
  }
}

trace::Trace random_trace(Random& random) {
  std::string rows;
  for (int i = 0; i < 60; ++i) {
    rows += std::to_string(i) + "," + std::to_string(random.integer(0, 300)) + "," +
            std::to_string(random.integer(1, 8)) + "," + std::to_string(random.integer(1, 100)) + "\n";
  }
  return trace_of(rows);
}

RC_GTEST_PROP(SimulationProperty, every_policy_runs_every_job_to_its_end_and_no_bound_is_beaten, ()) {
  Random random(*rc::gen::arbitrary<std::uint64_t>());
  const trace::Trace trace = random_trace(random);
  const Cluster cluster = uniform(2, 8);
  const study::LowerBounds bounds = study::lower_bounds(trace, cluster);
  for (const PolicyEntry& entry : policies()) {
    const SimulationResult result = run(trace, entry.info.name, cluster);
    const study::Metrics m = study::measure(trace, result, cluster);
    RC_ASSERT(m.jobs == static_cast<std::int64_t>(trace.jobs.size()));
    RC_ASSERT(result.unfinished == 0);
    RC_ASSERT(m.makespan_s >= bounds.makespan_s - 1e-6);
    RC_ASSERT(m.avg_jct_s >= bounds.avg_jct_s - 1e-6);
    std::int64_t work = 0;
    for (std::size_t i = 0; i < trace.jobs.size(); ++i) {
      work += trace.jobs[i].duration.us * trace.jobs[i].gpus;
      RC_ASSERT(result.outcomes[i].started >= trace.jobs[i].submitted);
      RC_ASSERT(result.outcomes[i].finished - result.outcomes[i].started >= trace.jobs[i].duration);
    }
    RC_ASSERT(std::abs(result.gpu_s_allocated - static_cast<double>(work) / 1e6) <
              1e-3);  // GPU-seconds are conserved: interruptions cost nothing here
  }
}

// If a policy's rule alone decides who goes first, the order of rows with the same time does not matter.
RC_GTEST_PROP(SimulationProperty, rows_of_one_instant_may_stand_in_any_order, ()) {
  Random random(*rc::gen::arbitrary<std::uint64_t>());
  std::vector<std::string> rows;
  for (int i = 0; i < 40; ++i) {
    rows.push_back(std::to_string(i) + "," + std::to_string(i / 10 * 50) + "," + std::to_string(random.integer(1, 8)) +
                   "," + std::to_string(100 * i + random.integer(1, 99)) + "\n");
  }
  const auto finishes = [&](const std::string& policy) {
    std::string text;
    for (const std::string& row : rows) text += row;
    const trace::Trace trace = trace_of(text);
    const SimulationResult result = run(trace, policy, uniform(2, 8));
    std::map<std::string, Instant> by_id;
    for (std::size_t i = 0; i < trace.jobs.size(); ++i)
      by_id[std::string(trace.jobs[i].id())] = result.outcomes[i].finished;
    return by_id;
  };
  for (const char* policy : {"sjf"}) {
    const auto before = finishes(policy);
    for (std::size_t i = rows.size(); i-- > 1;)
      std::swap(rows[i], rows[static_cast<std::size_t>(random.integer(0, static_cast<int>(i)))]);
    RC_ASSERT(finishes(policy) == before);
  }
}

RC_GTEST_PROP(SimulationProperty, equal_inputs_give_equal_results, ()) {
  Random random(*rc::gen::arbitrary<std::uint64_t>());
  const trace::Trace trace = random_trace(random);
  for (const PolicyEntry& entry : policies()) {
    const SimulationResult a = run(trace, entry.info.name, uniform(2, 8), Duration::whole_seconds(3)),
                           b = run(trace, entry.info.name, uniform(2, 8), Duration::whole_seconds(3));
    for (std::size_t i = 0; i < trace.jobs.size(); ++i)
      RC_ASSERT(a.outcomes[i].finished == b.outcomes[i].finished &&
                a.outcomes[i].preemptions == b.outcomes[i].preemptions);
  }
}

}  // namespace
}  // namespace sl::sim
