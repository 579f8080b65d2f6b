// The world and the policies assume the same speed, on every number of GPUs.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "policies/registry.h"
#include "sim/world.h"
#include "study/metrics.h"
#include "support/random_curve.h"
#include "support/trace_rows.h"

namespace sl::sim {
namespace {

using test::trace_of;

SimulationSettings one_server(int gpus) {
  SimulationSettings settings;
  settings.cluster = Cluster::uniform(1, gpus);
  return settings;
}

// Starts the only job on that many GPUs, and records how long the estimates say it will run there.
class StartOn : public Policy {
 public:
  StartOn(int gpus, Figure& expected_s) : gpus_(gpus), expected_s_(expected_s) {}
  void attach(const Snapshot&) override {}
  void notice(const Snapshot&, NoticeKind, JobIndex) override {}
  void decide(const Snapshot& snapshot, Plan& plan) override {
    if (snapshot.waiting.empty()) return;
    const JobIndex job = snapshot.waiting.front();
    expected_s_ = snapshot.estimates.remaining_s(snapshot.job(job), gpus_, snapshot.now);
    const ServerIndex server(0);
    plan.start(job, Allocation(server, snapshot.free.on(server).lowest(gpus_)));
  }

 private:
  int gpus_;
  Figure& expected_s_;
};

RC_GTEST_PROP(Speeds, a_job_runs_as_long_as_policies_were_told_on_every_number_of_gpus, ()) {
  Random random(*rc::gen::arbitrary<std::uint64_t>());
  const auto asked = random.integer(1, 12);
  trace::Trace trace = trace_of("a,0," + std::to_string(asked) + ",5000,1,12,linear\n", ",gpus_min,gpus_max,profile");
  JobModel model;
  model.speed_curve = test::random_curve(random);
  trace.details.front().model = std::make_shared<const JobModel>(model);
  trace.details.front().estimate = trace.jobs.front().duration;
  SimulationSettings settings = one_server(12);
  for (const bool knows_durations : {true, false}) {
    settings.knows_durations = knows_durations;  // from the trace, or from the user's estimate for the GPUs asked for
    for (int gpus = 1; gpus <= 12; ++gpus) {
      if (!knows_durations && gpus != asked) continue;
      Figure expected_s;
      const SimulationResult result = simulate(trace, std::make_unique<StartOn>(gpus, expected_s), settings);
      RC_ASSERT(expected_s.known());
      const double ran_s = result.outcomes.front().finished.to_seconds();
      RC_ASSERT(std::abs(ran_s - expected_s.value) <= 1e-6 * ran_s);
    }
  }
}

// The job whose table ends at four GPUs gains nothing from more, and the linear one gets them: 4000 / 7 = 571.4 s, then
// the other does the rest of its work on all GPUs it can use, (4000 - 571.4) / 1.330 = 2577.4 s more. If it counted as
// linear beyond its table, the first would get seven: 3007 s and 3131 s.
TEST(Speeds, gpus_that_nobody_measured_go_to_the_job_that_uses_them) {
  const trace::Trace trace =
      trace_of("flat,0,1,4000,1,8,mxnet-mnist\nlinear,0,1,4000,1,8,linear\n", ",gpus_min,gpus_max,profile");
  const SimulationSettings settings = one_server(8);
  const SimulationResult result = simulate(trace, std::move(*make_policy("ffdl")), settings);
  EXPECT_NEAR(result.outcomes[1].finished.to_seconds(), 4000.0 / 7, 1e-3);
  EXPECT_NEAR(study::measure(trace, result, settings.cluster).avg_jct_s, 1860, 0.5);
}

}  // namespace
}  // namespace sl::sim
