// Elastic EDF compared with EDF, with known run times: its use of GPUs that edf leaves idle costs no deadline.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/random.h"
#include "policies/registry.h"
#include "sim/world.h"

namespace sl::sim {
namespace {

struct DueJob {
  double submitted_s, seconds;
  int gpus_min, gpus, gpus_max;
  double due_s;
};

trace::Trace trace_of(std::vector<DueJob> jobs) {
  std::ranges::stable_sort(jobs, {}, &DueJob::submitted_s);
  trace::Trace trace;
  trace.users = {""};
  for (const DueJob& job : jobs) {
    trace::TraceDetails details;
    details.gpus_min = job.gpus_min;
    details.gpus_max = job.gpus_max;
    details.deadline = Instant::at_seconds(job.due_s);
    trace::TraceJob traced;
    traced.submitted = Instant::at_seconds(job.submitted_s);
    traced.duration = Duration::seconds(job.seconds);
    traced.gpus = job.gpus;
    traced.details = static_cast<std::uint32_t>(trace.details.size());
    trace.details.push_back(std::move(details));
    trace.jobs.push_back(traced);
  }
  return trace;
}

int deadlines_met(const std::vector<DueJob>& jobs, const std::string& servers, const std::string& policy,
                  const GivenParameters& parameters = {}) {
  constexpr Duration rounding{1000};  // of work done on several numbers of GPUs
  const trace::Trace trace = trace_of(jobs);
  SimulationSettings settings;
  settings.cluster = *read_cluster(servers);
  const SimulationResult result = simulate(trace, *make_policy(policy, parameters), settings);
  EXPECT_EQ(result.unfinished, 0);
  EXPECT_EQ(result.decisions_refused, 0u);
  int met = 0;
  for (std::size_t i = 0; i < trace.jobs.size(); ++i)
    met += result.outcomes[i].finished <= trace.details[i].deadline + rounding;
  return met;
}
int edf(const std::vector<DueJob>& jobs, const std::string& servers) {
  return deadlines_met(jobs, servers, "edf", {{"min_quantum_s", "0"}});
}
int elastic(const std::vector<DueJob>& jobs, const std::string& servers) {
  return deadlines_met(jobs, servers, "elastic_edf");
}

std::vector<DueJob> random_jobs(std::uint64_t seed, int widest) {
  Random random(seed);
  const auto between = [&](int least, int most) { return static_cast<int>(random.integer(least, most)); };
  std::vector<DueJob> jobs(static_cast<std::size_t>(between(3, 12)));
  for (DueJob& job : jobs) {
    job.submitted_s = between(0, 60);
    job.seconds = between(1, 60);
    job.gpus = between(1, widest);
    job.gpus_min = between(1, job.gpus);
    job.gpus_max = between(job.gpus, 4);
    job.due_s = job.submitted_s + job.seconds + between(0, 80);
  }
  return jobs;
}

RC_GTEST_PROP(Deadlines, elastic_edf_meets_all_that_edf_meets_where_jobs_ask_for_one_gpu, (std::uint64_t seed)) {
  const std::vector<DueJob> jobs = random_jobs(seed, 1);
  for (const char* servers : {"1x2", "3x1"}) {
    RC_PRE(edf(jobs, servers) == static_cast<int>(jobs.size()));
    RC_ASSERT(elastic(jobs, servers) == static_cast<int>(jobs.size()));
  }
}

TEST(Deadlines, elastic_edf_meets_all_that_edf_meets_on_one_server) {
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    const std::vector<DueJob> jobs = random_jobs(seed, 4);
    if (edf(jobs, "1x4") < static_cast<int>(jobs.size())) continue;
    EXPECT_EQ(elastic(jobs, "1x4"), static_cast<int>(jobs.size())) << "seed " << seed;
  }
}

// On several servers there are exceptions, as below, and far more workloads on which it meets more.
TEST(Deadlines, elastic_edf_meets_more_than_edf_on_random_workloads) {
  int feasible = 0, worse_of_feasible = 0, worse = 0, better = 0;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    const std::vector<DueJob> jobs = random_jobs(seed, 4);
    const int rigid = edf(jobs, "2x4"), resized = elastic(jobs, "2x4");
    const bool is_feasible = rigid == static_cast<int>(jobs.size());
    feasible += is_feasible;
    worse_of_feasible += is_feasible && resized < rigid;
    worse += resized < rigid;
    better += resized > rigid;
  }
  EXPECT_LE(worse_of_feasible * 100, feasible);
  EXPECT_LE(worse * 20, better);
}

// Why not always: the first job ends at 2.5 s, on both GPUs of its server, instead of at 5. So the fourth finds that
// server empty at 3 s, where under edf the third has begun next to the first.
TEST(Deadlines, a_job_that_ends_earlier_can_cost_another_its_place) {
  const std::vector<DueJob> jobs = {{0, 5, 1, 1, 2, 9}, {0, 5, 2, 2, 2, 7}, {3, 6, 1, 1, 1, 10}, {3, 3, 2, 2, 2, 9}};
  EXPECT_EQ(edf(jobs, "2x2"), 4);
  EXPECT_EQ(elastic(jobs, "2x2"), 3);
}

}  // namespace
}  // namespace sl::sim
