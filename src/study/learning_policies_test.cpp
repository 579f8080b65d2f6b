// Policies that learn from what trainings report, on workloads of measured trainings without known durations: each does
// what it is for, and does worse when a fact it relies on is hidden from it.
#include <gtest/gtest.h>

#include <stdexcept>

#include "policy/policy_wrapper.h"
#include "study/experiment.h"
#include "trace/workloads.h"

namespace sl::study {
namespace {

using Hide = void (*)(Job&);

void nothing(Job&) {}
void losses(Job& job) {
  if (job.telemetry) job.telemetry->loss_by_epoch.clear();
}
void speeds(Job& job) {
  if (job.telemetry) job.telemetry->speeds.clear();
}
void memory(Job& job) {
  if (job.telemetry) job.telemetry->gpu_memory_used_bytes.reset();
}
template <typename Change>
void change_model(Job& job, Change change) {
  if (!job.request.model) return;
  JobModel model = *job.request.model;
  change(model);
  job.request.model = std::make_shared<const JobModel>(std::move(model));
}
void target_loss(Job& job) {
  change_model(job, [](JobModel& model) { model.target_loss.reset(); });
}
void budget(Job& job) {
  change_model(job, [](JobModel& model) { model.budget.reset(); });
}

// A built-in policy from which a fact about the jobs is hidden while it decides.
class Without : public PolicyWrapper {
 public:
  Without(std::unique_ptr<Policy> policy, Hide hide) : PolicyWrapper(std::move(policy)), hide_(hide) {}
  void decide(const Snapshot& snapshot, Plan& plan) override {
    std::vector<Kept> kept;
    for (const auto* jobs : {&snapshot.waiting, &snapshot.active}) {
      for (const JobIndex index : *jobs) kept.push_back(hide_from(const_cast<Job&>(snapshot.job(index))));
    }
    policy_->decide(snapshot, plan);
    for (Kept& facts : kept) {
      facts.job->telemetry = std::move(facts.telemetry);
      facts.job->request.model = std::move(facts.model);
    }
  }

 private:
  struct Kept {
    Job* job;
    std::unique_ptr<JobTelemetry> telemetry;
    std::shared_ptr<const JobModel> model;
  };
  Kept hide_from(Job& job) const {
    Kept kept{&job, nullptr, job.request.model};
    if (job.telemetry) kept.telemetry = std::make_unique<JobTelemetry>(*job.telemetry);
    hide_(job);
    return kept;
  }

  Hide hide_;
};

struct World {
  const char *trace, *cluster;
};
constexpr World t4{"pollux", SCHEDULEARN_EXAMPLES "/clusters/t4.toml"};
constexpr World v100{"gavel:jobs=40,interval_s=300", SCHEDULEARN_EXAMPLES "/clusters/v100.toml"};
constexpr World mixed{"gavel", SCHEDULEARN_EXAMPLES "/clusters/mixed.toml"};

// Mean over three seeds.
double mean_jct_s(const World& world, const std::string& policy, Hide hide = nothing, const GivenParameters& given = {},
                  std::vector<std::uint64_t> seeds = {1, 2, 3}) {
  ExperimentSettings settings;
  settings.trace = world.trace;
  settings.cluster = *sim::read_cluster(world.cluster);
  settings.knows_durations = false;
  settings.seeds = std::move(seeds);
  PolicyEntry entry = entry_of({policy, {}});
  entry.make = [make = entry.make, hide](const Parameters& parameters) -> std::unique_ptr<Policy> {
    return std::make_unique<Without>(make(parameters), hide);
  };
  settings.policies = {{policy, given, std::make_shared<const PolicyEntry>(std::move(entry))}};
  const auto result = run_experiment(settings, [](const ExperimentProgress&) { return true; });
  if (!result.ok()) throw std::runtime_error(result.error().message);
  double sum_s = 0;
  for (const ExperimentRow& row : result->rows) {
    EXPECT_EQ(row.metrics.unfinished, 0);
    sum_s += row.metrics.avg_jct_s;
  }
  return sum_s / static_cast<double>(result->rows.size());
}

TEST(LearningPolicies, optimus_gives_gpus_to_trainings_whose_reported_speed_grows_by_them) {
  const double learned = mean_jct_s({"pollux:gpus_max=4", t4.cluster}, "optimus");
  EXPECT_LT(learned, .85 * mean_jct_s({"pollux:gpus_max=4", t4.cluster}, "fifo"));
  EXPECT_LT(learned, .85 * mean_jct_s({"pollux:gpus_max=4", t4.cluster}, "optimus", speeds));
}

// Its rule gives most GPUs to the trainings with most work left, so that knowing the work saves no time on average
// (docs/guide/policies.md, "What learning is worth"). How good the estimates are: loss_estimates_test.cpp.
TEST(LearningPolicies, optimus_is_neither_faster_nor_slower_by_losses) {
  for (const char* workload : {"pollux:gpus_max=4", "pollux:gpus_max=4,interval_s=0,jobs=20"}) {
    const double learned = mean_jct_s({workload, t4.cluster}, "optimus");
    EXPECT_NEAR(learned / mean_jct_s({workload, t4.cluster}, "optimus", losses), 1, .06) << workload;
  }
}

TEST(LearningPolicies, coach_rests_on_speeds) {
  const double learned = mean_jct_s(t4, "coach");
  EXPECT_LT(learned, .95 * mean_jct_s(t4, "elastic_fifo"));
  EXPECT_LT(learned, .95 * mean_jct_s(t4, "coach", speeds));
}

// Even told everything, lengths included, Coach is hardly faster (docs/guide/policies.md, "What learning is worth"). Three
// seeds are too few to tell: a handful of long trainings decides their mean.
TEST(LearningPolicies, coach_is_neither_faster_nor_slower_by_losses_and_targets) {
  const std::vector<std::uint64_t> seeds{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  const double learned = mean_jct_s(t4, "coach", nothing, {}, seeds);
  EXPECT_NEAR(learned / mean_jct_s(t4, "coach", losses, {}, seeds), 1, .06);
  EXPECT_NEAR(learned / mean_jct_s(t4, "coach", target_loss, {}, seeds), 1, .06);
}

// Adds up what jobs have used.
class GpuTime : public sim::WorldObserver {
 public:
  explicit GpuTime(std::size_t jobs) : jobs_(jobs) {}
  void happened(const sim::WorldEvent& event) override {
    if (!event.gpus) return;
    Used& used = jobs_[event.job];
    if (used.gpus > 0) used.gpu_s += used.gpus * (event.at - used.since).to_seconds();
    const bool runs = event.kind == sim::WorldEventKind::start || event.kind == sim::WorldEventKind::resume ||
                      event.kind == sim::WorldEventKind::resize || event.kind == sim::WorldEventKind::migrate;
    used.gpus = runs ? event.gpus->count() : 0;
    used.since = event.at;
  }
  double gpu_s(std::size_t job) const { return jobs_[job].gpu_s; }

 private:
  struct Used {
    double gpu_s = 0;
    int gpus = 0;
    Instant since;
  };
  std::vector<Used> jobs_;
};

// Of trainings that may cost half as much again as on one GPU, the part that costs more. Mean over three seeds.
double part_over_budget(Hide hide) {
  constexpr double gpu_price = 0.01;  // Coach's parameter
  double over = 0, jobs = 0;
  for (const std::uint64_t seed : {1, 2, 3}) {
    trace::Trace trace = *trace::make_workload("pollux:jobs=40", seed, {});
    std::vector<double> budgets;
    for (const trace::TraceJob& job : trace.jobs) {
      trace::TraceDetails& details = trace.details[job.details];
      JobModel model = *details.model;
      model.budget = budgets.emplace_back(1.5 * gpu_price * job.duration.to_seconds());
      details.model = std::make_shared<const JobModel>(std::move(model));
    }
    GpuTime used(budgets.size());
    sim::SimulationSettings settings;
    settings.cluster = *sim::read_cluster(t4.cluster);
    settings.knows_durations = false;
    settings.seed = seed;
    settings.observer = &used;
    sim::simulate(trace, std::make_unique<Without>(*sl::make_policy("coach"), hide), settings);
    for (std::size_t i = 0; i < budgets.size(); ++i) over += gpu_price * used.gpu_s(i) > 1.01 * budgets[i];
    jobs += static_cast<double>(budgets.size());
  }
  return over / jobs;
}

TEST(LearningPolicies, coach_lets_no_training_cost_more_than_its_budget) {
  EXPECT_EQ(part_over_budget(nothing), 0);
  EXPECT_GT(part_over_budget(budget), .25);
}

TEST(LearningPolicies, gandiva_packs_jobs_that_fit_and_takes_apart_pairs_that_do_not_pay) {
  const GivenParameters paper = {{"slice_s", "60"}};
  const double packed = mean_jct_s(v100, "gandiva", nothing, paper);
  EXPECT_LT(packed, .9 * mean_jct_s(v100, "gandiva", nothing, {{"slice_s", "60"}, {"packing", "false"}}));
  EXPECT_LT(packed, .9 * mean_jct_s(v100, "gandiva", memory, paper));   // not known to fit
  EXPECT_LT(packed, .95 * mean_jct_s(v100, "gandiva", speeds, paper));  // pairs stay together
}

TEST(LearningPolicies, max_min_gives_each_job_the_type_of_gpu_that_suits_it) {
  const double learned = mean_jct_s(mixed, "max_min");
  EXPECT_LT(learned, .7 * mean_jct_s(mixed, "fifo"));
  EXPECT_LT(learned, .9 * mean_jct_s(mixed, "max_min", speeds));
}

}  // namespace
}  // namespace sl::study
