// How long a simulation goes on while nothing runs, and what it says of the jobs that are left.
#include <gtest/gtest.h>

#include <utility>

#include "policies/registry.h"
#include "sim/world.h"
#include "study/metrics.h"
#include "support/trace_rows.h"

namespace sl::sim {
namespace {

using test::trace_of;

// The policy starts no job before its penalty for using the cluster is outweighed by how long jobs have waited, and
// asks ten times a second: far more often than 10,000 times, but it does start them.
constexpr const char* patient = "lyapunov";
const GivenParameters patience = {{"penalty", "absolute"}, {"v", "10000"}, {"slot_s", "0.1"}};

SimulationResult run_patiently(const char* rows) {
  SimulationSettings settings;
  settings.cluster = Cluster::uniform(1, 8);
  return simulate(trace_of(rows), std::move(*make_policy(patient, patience)), settings);
}

TEST(IdleCluster, waits_for_a_policy_that_takes_its_time) {
  const SimulationResult result = run_patiently("a,0,1,100\nb,0,2,100\n");
  EXPECT_EQ(result.unfinished, 0);
  EXPECT_GT(result.decisions, 20'000U);
}

TEST(IdleCluster, is_given_up_where_no_waiting_job_could_ever_run) {
  const SimulationResult result = run_patiently("wide,0,9,100\n");
  EXPECT_EQ(result.unfinished, 1);
  EXPECT_LT(result.idle_at_end, Duration::whole_seconds(3600));
}

// Asks to be woken for ever and starts nothing.
class Idler : public Policy {
 public:
  explicit Idler(Duration every = Duration::whole_seconds(1)) : every_(every) {}
  void attach(const Snapshot&) override {}
  void notice(const Snapshot&, NoticeKind, JobIndex) override {}
  void decide(const Snapshot& snapshot, Plan& plan) override { plan.wake_at(snapshot.now + every_); }

 private:
  Duration every_;
};

// Starts one job on the first GPU, and nothing after that.
class StartsOne : public Idler {
 public:
  void decide(const Snapshot& snapshot, Plan& plan) override {
    if (!std::exchange(has_started_, true)) plan.start(snapshot.waiting.front(), {ServerIndex(0), GpuSet::only(0)});
    Idler::decide(snapshot, plan);
  }

 private:
  bool has_started_ = false;
};

TEST(IdleCluster, has_no_part_in_the_figures_of_what_has_run) {
  SimulationSettings settings;
  settings.cluster = Cluster::uniform(2, 4);
  const trace::Trace trace = trace_of("a,0,1,10\nb,5,1,10\n");
  const SimulationResult result = simulate(trace, std::make_unique<StartsOne>(), settings);
  EXPECT_EQ(result.unfinished, 1);
  const study::Metrics metrics = study::measure(trace, result, settings.cluster);
  EXPECT_DOUBLE_EQ(metrics.fragmentation_pct, 100 * 3.0 / 7);
  EXPECT_DOUBLE_EQ(metrics.gpu_allocation_pct, 100 * 1.0 / 8);
}

TEST(IdleCluster, says_what_keeps_the_first_of_the_others_from_running) {
  SimulationSettings settings;
  settings.cluster = Cluster::uniform(2, 1);
  settings.cluster.kinds.front().capacity[Resource::cpu] = 8;
  const auto left = [&](const std::string& job, const std::string& columns) {
    return simulate(trace_of(job, columns), std::move(*make_policy("fifo")), settings).first_unfinished;
  };
  EXPECT_EQ(left("j,0,2,10,ps 1..3 gpus=0 cpus=4|w 1..2 cpus=1\n", ",roles"),
            "j: under this policy no division of its members over the servers was found that has room for all at once");
  EXPECT_EQ(left("j,0,1,10,9\n", ",cpus"), "j: under this policy it needs 9 CPUs, the largest server has 8");
}

TEST(IdleCluster, is_given_up_after_a_month) {
  SimulationSettings settings;
  settings.cluster = Cluster::uniform(1, 8);
  const SimulationResult result = simulate(trace_of("a,0,1,100\n"), std::make_unique<Idler>(), settings);
  EXPECT_EQ(result.unfinished, 1);
  EXPECT_EQ(result.first_unfinished, "a: the policy left it waiting");
  EXPECT_NEAR(result.idle_at_end.to_seconds() / 86'400, 30, 0.2);
}

TEST(IdleCluster, is_given_up_after_a_month_though_servers_come_and_go) {
  SimulationSettings settings;
  settings.cluster = Cluster::uniform(4, 4);
  settings.cluster.faults.server_mtbf = Duration::whole_seconds(86'400);
  settings.cluster.faults.server_repair = Duration::whole_seconds(3600);
  const Duration every = Duration::whole_seconds(36'000);
  const SimulationResult result = simulate(trace_of("a,0,1,100\n"), std::make_unique<Idler>(every), settings);
  EXPECT_EQ(result.unfinished, 1);
  EXPECT_NEAR(result.idle_at_end.to_seconds() / 86'400, 30, 0.5);
}

TEST(IdleCluster, waits_longer_than_a_month_for_a_server_that_is_to_come_back) {
  constexpr double day_s = 86'400;
  SimulationSettings settings;
  settings.cluster = Cluster::uniform(2, 1);
  settings.cluster.events = {{Instant::at_seconds(1), "gpu1", true}, {Instant::at_seconds(60 * day_s), "gpu1", false}};
  const trace::Trace trace = trace_of("a,2,2,100\n");
  const SimulationResult result = simulate(trace, std::move(*make_policy("lyapunov", {{"slot_s", "100"}})), settings);
  EXPECT_EQ(result.unfinished, 0);
  EXPECT_GE(result.outcomes[0].finished, Instant::at_seconds(60 * day_s));
}

}  // namespace
}  // namespace sl::sim
