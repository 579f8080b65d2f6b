// No policy may interrupt jobs without end: whatever an interruption costs, and even with every margin and every
// shortest run time at zero, time goes on, every job ends, and the number of interruptions is bounded by what happens.
#include <gtest/gtest.h>

#include "policies/registry.h"
#include "sim/world.h"
#include "support/trace_rows.h"
#include "trace/workloads.h"

namespace sl::sim {
namespace {

using test::trace_of;

// Settings that only keep a policy from changing its mind too often.
GivenParameters without_margins(const PolicyInfo& info) {
  GivenParameters given;
  for (const char* name :
       {"min_quantum_s", "preempt_margin_s", "resize_min_run_s", "resize_min_rem_s", "grow_idle_s"}) {
    if (find_parameter(info.parameters, name)) given.emplace_back(name, "0");
  }
  return given;
}

// The time between two decisions of a policy that divides time into slices; 0: it does not.
double slice_s(const PolicyInfo& info) {
  for (const char* name : {"slice_s", "round_s", "gittins_tick_s"}) {
    if (const ParameterInfo* slice = find_parameter(info.parameters, name)) return std::stod(slice->default_value);
  }
  return 0;
}

// A slice that is shorter than an interruption takes gets nothing done (see below), so slices are longer.
Costs random_costs(Random& random, double slice_s) {
  const double most_s = slice_s > 0 ? slice_s / 3 : 1000;
  const auto cost = [&] { return random.chance(0.3) ? Duration{0} : Duration::seconds(random.uniform(0, most_s)); };
  return {cost(), cost(), cost(), cost(), cost(), cost()};
}

trace::Trace random_trace(Random& random, std::uint64_t seed) {
  std::string workload = "poisson:jobs=40,cluster_gpus=8,load=1.5,weight_8=1,weight_16=0,weight_32=0";
  if (random.chance(0.5)) workload += ",elastic=1";
  if (random.chance(0.5)) workload += ",deadline_slack=2";
  if (random.chance(0.5)) workload += ",estimate_error=1";
  trace::Trace trace = *trace::make_workload(workload, seed, {});
  for (trace::TraceJob& job : trace.jobs) {
    trace::TraceDetails details;
    if (const trace::TraceDetails* known = trace.details_of(job)) details = *known;
    details.priority = static_cast<int>(random.integer(0, 2));
    job.details = static_cast<std::uint32_t>(trace.details.size());
    trace.details.push_back(std::move(details));
  }
  return trace;
}

std::int64_t interruptions(const Outcome& outcome) {
  return outcome.preemptions + outcome.resizes + outcome.migrations;
}

std::vector<std::string> policies_that_interrupt() {
  std::vector<std::string> names;
  for (const PolicyEntry& entry : policies()) {
    if (entry.info.preemptive) names.push_back(entry.info.name);
  }
  return names;
}

// What may interrupt a job: another one comes or goes, or its slice of time is over.
double causes(const trace::Trace& trace, const Outcome& outcome, double slice_s) {
  const double events = 2 * static_cast<double>(trace.jobs.size());
  return slice_s > 0 ? events + 2 * (outcome.finished - outcome.started).to_seconds() / slice_s : events;
}

class Interrupting : public testing::TestWithParam<std::string> {};

TEST_P(Interrupting, ends_every_job_whatever_an_interruption_costs) {
  const PolicyInfo& info = find_policy(GetParam())->info;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Random random(seed);
    const trace::Trace trace = random_trace(random, seed);
    SimulationSettings settings;
    settings.cluster = random.chance(0.5) ? Cluster::uniform(2, 4) : Cluster::uniform(8, 1);
    settings.cluster.costs = random_costs(random, slice_s(info));
    settings.knows_durations = random.chance(0.7);
    settings.seed = seed;
    const SimulationResult result =
        simulate(trace, std::move(*make_policy(GetParam(), without_margins(info))), settings);
    ASSERT_EQ(result.standstill, "") << "seed " << seed;
    for (const Outcome& outcome : result.outcomes) {
      if (!outcome.started.happened()) continue;  // wider than a server, or rejected
      ASSERT_TRUE(outcome.finished.happened()) << "seed " << seed;
      ASSERT_LE(interruptions(outcome), causes(trace, outcome, slice_s(info))) << "seed " << seed;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, Interrupting, testing::ValuesIn(policies_that_interrupt()),
                         [](const auto& test) { return test.param; });

SimulationSettings one_gpu(double restart_s) {
  SimulationSettings settings;
  settings.cluster = Cluster::uniform(1, 1);
  settings.cluster.costs.restart = Duration::seconds(restart_s);
  return settings;
}

class Shortest : public testing::TestWithParam<const char*> {};

// At 920 s two stopped jobs wait, with 970 s and 990 s left. Whichever runs has to come back first, for 30 s. If only
// that one counted them, it would be behind the other when d arrives, and the other behind it at once.
TEST_P(Shortest, counts_the_cost_of_coming_back_also_for_jobs_that_wait) {
  const GivenParameters at_once = {{"min_quantum_s", "0"}, {"preempt_margin_s", "0"}};
  const trace::Trace trace = trace_of("a,0,1,1000\nb,10,1,980\nc,20,1,900\nd,921,1,5000\n");
  const SimulationResult result = simulate(trace, std::move(*make_policy(GetParam(), at_once)), one_gpu(30));
  EXPECT_EQ(result.outcomes[2].finished.to_seconds(), 920);
  EXPECT_EQ(result.outcomes[1].finished.to_seconds(), 920 + 30 + 970);
  EXPECT_EQ(result.outcomes[0].finished.to_seconds(), 1920 + 30 + 990);
  EXPECT_EQ(result.outcomes[0].preemptions + result.outcomes[1].preemptions, 2);
}

// Once, 1,000 s were cause for twice as many.
TEST_P(Shortest, preempts_hardly_more_often_when_that_costs_more) {
  const auto trace = trace::make_workload("burst:jobs=2000,cluster_gpus=64,load=1.3", 1, {});
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  const auto preemptions = [&](double restart_s) {
    SimulationSettings settings = one_gpu(restart_s);
    settings.cluster.kinds = Cluster::uniform(8, 8).kinds;
    std::int64_t sum = 0;
    for (const Outcome& outcome : simulate(*trace, std::move(*make_policy(GetParam())), settings).outcomes)
      sum += outcome.preemptions;
    return static_cast<double>(sum);
  };
  const double without = preemptions(0);
  for (const double restart_s : {30., 300., 1000.}) EXPECT_LE(preemptions(restart_s), 1.2 * without) << restart_s;
}

INSTANTIATE_TEST_SUITE_P(Policies, Shortest, testing::Values("srtf", "srsf", "srjf"),
                         [](const auto& test) { return std::string(test.param); });

// Once the job that runs has run for `slice`, the one that waits takes its place.
class Swapper : public Policy {
 public:
  explicit Swapper(Duration slice) : slice_(slice) {}
  void attach(const Snapshot&) override {}
  void notice(const Snapshot&, NoticeKind, JobIndex) override {}
  void decide(const Snapshot& snapshot, Plan& plan) override {
    plan.wake_at(snapshot.now + slice_);
    if (snapshot.waiting.empty()) return;
    for (const JobIndex job : snapshot.active) {
      if (snapshot.now < snapshot.job(job).last_start + slice_) return;
      plan.preempt(job);
    }
    plan.start(*snapshot.waiting.begin(), Allocation(ServerIndex(0), GpuSet::only(0)));
  }

 private:
  Duration slice_;
};

TEST(Standstill, while_the_clock_hardly_moves_is_given_up) {
  const SimulationResult result =
      simulate(trace_of("a,0,1,100\nb,0,1,100\n"), std::make_unique<Swapper>(Duration{1}), one_gpu(0));
  EXPECT_EQ(result.unfinished, 2);
  EXPECT_EQ(result.standstill, "job a was preempted 1000 times in a row before any of its work was done; likewise b");
}

TEST(Standstill, while_time_passes_is_given_up) {
  const SimulationResult result =
      simulate(trace_of("a,0,1,100\nb,0,1,100\n"), std::make_unique<Swapper>(Duration::whole_seconds(60)), one_gpu(60));
  EXPECT_EQ(result.unfinished, 2);
  EXPECT_NE(result.standstill.find("preempted 1000 times in a row"), std::string::npos) << result.standstill;
}

TEST(Standstill, is_not_a_slice_that_is_longer_than_its_cost) {
  const SimulationResult result =
      simulate(trace_of("a,0,1,100\nb,0,1,100\n"), std::make_unique<Swapper>(Duration::whole_seconds(60)), one_gpu(59));
  EXPECT_EQ(result.standstill, "");
  EXPECT_EQ(result.unfinished, 0);
}

// Slices of 600 s, and coming back takes longer.
TEST(Standstill, names_the_jobs_of_a_built_in_policy) {
  SimulationSettings settings = one_gpu(0);
  settings.cluster.costs.restart = Duration::whole_seconds(1000);
  const SimulationResult result =
      simulate(trace_of("a,0,1,10000\nb,0,1,10000\n"), std::move(*make_policy("gandiva")), settings);
  EXPECT_EQ(result.unfinished, 2);
  EXPECT_NE(result.standstill.find("was suspended 1000 times in a row"), std::string::npos) << result.standstill;
}

}  // namespace
}  // namespace sl::sim
