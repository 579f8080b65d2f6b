// What running trainings with a known profile do and report in a simulation, by hand.
#include "sim/reports.h"

#include <gtest/gtest.h>

#include <cmath>

#include "policies/registry.h"
#include "policy/policy_wrapper.h"
#include "sim/world.h"
#include "study/metrics.h"
#include "support/trace_rows.h"
#include "trace/profiles.h"

namespace sl::sim {
namespace {

// 1 step/s on a V100, 10 steps per epoch.
constexpr const char* profile_text =
    R"({"schedulearn_profile": 1, "family": "cnn", "steps_per_epoch": 10, "restart_s": 7,
  "speeds": [{"gpus": 1, "gpu_type": "V100", "steps_per_s": 1, "gpu_utilization_pct": 40, "gpu_memory_bytes": 5},
             {"gpus": 2, "gpu_type": "V100", "steps_per_s": 1.6},
             {"gpus": 4, "gpu_type": "V100", "steps_per_s": 2},
             {"gpus": 2, "servers": 2, "gpu_type": "V100", "steps_per_s": 0.8},
             {"gpus": 1, "gpu_type": "K80", "steps_per_s": 0.25}],
  "shared": [{"with": "cnn", "gpu_type": "V100", "steps_per_s": 0.75}],
  "loss": {"curve": {"b0": 0.1, "b1": 0.5, "b2": 0.2}}})";

trace::Trace cnn_trace(const std::string& rows, const std::string& more_columns = "",
                       const std::string& profile = profile_text) {
  auto read = wire::parse_profile(profile);
  SL_CHECK(read.ok(), "the profiles of tests are valid");
  trace::TraceOptions options;
  options.profiles["cnn"] = std::make_shared<const wire::TrainingProfile>(std::move(*read));
  return test::trace_of(rows, ",model" + more_columns, options);
}

ServerKind kind_of(const std::string& type, int gpus, int count = 1) {
  ServerKind kind;
  kind.count = count;
  kind.gpus = gpus;
  kind.gpu_type = type;
  return kind;
}

struct Seen {  // of one job, as policies saw it
  JobTelemetry telemetry;
  std::shared_ptr<const JobModel> model;
};

// Any policy, recording what it could see of each job.
class Watched : public PolicyWrapper {
 public:
  Watched(std::unique_ptr<Policy> policy, std::map<JobId, Seen>& seen)
      : PolicyWrapper(std::move(policy)), seen_(seen) {}
  void notice(const Snapshot& snapshot, NoticeKind kind, JobIndex job) override {
    see(snapshot.job(job));
    policy_->notice(snapshot, kind, job);
  }
  void decide(const Snapshot& snapshot, Plan& plan) override {
    for (const JobIndex index : snapshot.active) see(snapshot.job(index));
    policy_->decide(snapshot, plan);
  }

 private:
  void see(const Job& job) {
    Seen& seen = seen_[job.request.id];
    seen.model = job.request.model;
    if (job.telemetry) seen.telemetry = *job.telemetry;
  }

  std::map<JobId, Seen>& seen_;
};

struct Finished {
  SimulationResult result;
  std::map<JobId, Seen> seen;
  double finish_s(std::size_t job) const { return result.outcomes[job].finished.to_seconds(); }
  const JobTelemetry& telemetry(std::int64_t job) const { return seen.at(JobId(job)).telemetry; }
};

Finished watch(const trace::Trace& trace, const std::string& policy, std::vector<ServerKind> kinds, bool knows = true,
               std::uint64_t seed = 1) {
  SimulationSettings settings;
  settings.cluster.kinds = std::move(kinds);
  settings.knows_durations = knows;
  settings.seed = seed;
  Finished run;
  run.result = simulate(trace, std::make_unique<Watched>(std::move(*make_policy(policy)), run.seen), settings);
  return run;
}

double loss_after(double epoch) { return 1 / (0.1 * epoch + 0.5) + 0.2; }

TEST(MeasuredSpeed, follows_the_type_of_the_gpus_their_number_and_the_servers) {
  const trace::Trace one = cnn_trace("a,0,1,100,cnn\n"), two = cnn_trace("a,0,2,100,cnn\n");
  EXPECT_EQ(watch(one, "fifo", {kind_of("V100", 1)}).finish_s(0), 100);
  EXPECT_EQ(watch(one, "fifo", {kind_of("K80", 1)}).finish_s(0), 400);
  EXPECT_EQ(watch(two, "fifo", {kind_of("V100", 2)}).finish_s(0), 100);
  // As many servers as in the duration's own configuration if no server has enough GPUs.
  EXPECT_EQ(watch(two, "fifo", {kind_of("V100", 1, 2)}).finish_s(0), 100);
  ServerKind unknown = kind_of("A100", 1);
  unknown.speed = 4;
  EXPECT_EQ(watch(one, "fifo", {unknown}).finish_s(0), 25);
}

TEST(MeasuredSpeed, on_more_gpus_is_as_measured_and_between_on_a_line) {
  const trace::Trace trace = cnn_trace("a,0,1,100,cnn,1,3\n", ",gpus_min,gpus_max");
  EXPECT_NEAR(watch(trace, "elastic_fifo", {kind_of("V100", 3)}).finish_s(0), 100 / 1.8, 1e-3);
}

TEST(Reports, tell_the_loss_of_every_epoch_and_the_speed_and_load_there) {
  const Finished done = watch(cnn_trace("a,0,1,100,cnn\n"), "fifo", {kind_of("V100", 1)});
  const JobTelemetry& told = done.telemetry(1);
  ASSERT_EQ(told.loss_by_epoch.size(), 9U);  // the tenth ends with the job
  for (std::size_t k = 0; k < 9; ++k) EXPECT_DOUBLE_EQ(told.loss_by_epoch[k], loss_after(static_cast<double>(k + 1)));
  ASSERT_FALSE(told.speeds.empty());
  EXPECT_EQ(told.speeds.back().steps_per_s, 1);
  EXPECT_EQ(told.speeds.back().workers, 1);
  EXPECT_EQ(told.gpu_utilization_pct, 40);
  EXPECT_EQ(told.gpu_memory_used_bytes, 5);
}

TEST(Reports, come_later_where_it_is_slower) {
  const Finished done = watch(cnn_trace("a,0,1,100,cnn\n"), "fifo", {kind_of("K80", 1)});
  EXPECT_EQ(done.telemetry(1).loss_by_epoch.size(), 9U);
  EXPECT_EQ(done.telemetry(1).speeds.back().steps_per_s, 0.25);
}

TEST(Reports, stretch_the_curve_so_that_the_target_is_met_at_the_end) {
  const Finished done = watch(cnn_trace("a,0,1,100,cnn,0.4\n", ",target_loss"), "fifo", {kind_of("V100", 1)});
  const std::vector<double>& losses = done.telemetry(1).loss_by_epoch;  // 0.4 is reached at the curve's 45th epoch
  ASSERT_EQ(losses.size(), 9U);
  EXPECT_DOUBLE_EQ(losses[8], loss_after(40.5));
}

TEST(Reports, have_the_noise_of_the_profile_drawn_from_the_seed_whatever_the_policy) {
  std::string noisy = profile_text;
  noisy.replace(noisy.find("\"b2\": 0.2}"), 10, "\"b2\": 0.2}, \"noise\": 0.02");
  const trace::Trace trace = cnn_trace("a,0,1,100,cnn\nb,0,1,100,cnn\nc,5,1,20,cnn\n", "", noisy);
  const auto losses = [&](const char* policy, std::uint64_t seed) {
    return watch(trace, policy, {kind_of("V100", 1)}, true, seed).telemetry(2).loss_by_epoch;
  };
  const auto first = losses("fifo", 1);
  ASSERT_EQ(first.size(), 9U);
  EXPECT_EQ(first, losses("srtf", 1));
  EXPECT_NE(first, losses("fifo", 2));
  double error = 0;
  for (std::size_t k = 0; k < 9; ++k) error += std::abs(first[k] / loss_after(static_cast<double>(k + 1)) - 1) / 9;
  EXPECT_GT(error, 0.001);
  EXPECT_LT(error, 0.06);
}

TEST(Reports, are_none_without_a_profile) {
  const Finished done = watch(cnn_trace("a,0,1,100,other\n"), "fifo", {kind_of("V100", 1)});
  EXPECT_TRUE(done.telemetry(1).speeds.empty());
  EXPECT_FALSE(done.telemetry(1).gpu_utilization_pct);
}

TEST(Reports, wait_until_an_interrupted_training_goes_on_and_count_no_epoch_twice) {
  const Finished done = watch(cnn_trace("a,0,1,1000,cnn\nb,105,1,20,other\n"), "srtf", {kind_of("V100", 1)});
  EXPECT_EQ(done.finish_s(0), 1027);  // the profile's restart takes 7 s
  EXPECT_EQ(done.telemetry(1).loss_by_epoch.size(), 99U);
}

TEST(Sharing, keeps_the_speed_that_was_measured_for_the_pair) {
  std::vector<ServerKind> kinds = {kind_of("V100", 1)};
  kinds[0].gpu_memory_bytes = 16;
  const Finished done = watch(cnn_trace("a,0,1,300,cnn,0.5\nb,0,1,300,cnn,0.5\n", ",gpu_share"), "gandiva", kinds);
  ASSERT_EQ(done.result.finished.size(), 2U);
  bool reported = false;
  for (const SpeedSample& sample : done.telemetry(1).speeds) {
    if (sample.neighbour != JobId(2)) continue;
    reported = true;
    EXPECT_EQ(sample.steps_per_s, 0.75);
  }
  EXPECT_TRUE(reported);
}

TEST(Blind, policies_are_told_what_users_say_and_nothing_that_was_measured) {
  const trace::Trace trace = cnn_trace("a,0,1,100,cnn,30,0.4\n", ",epochs,target_loss");
  const auto model = [&](bool knows) {
    return watch(trace, "fifo", {kind_of("V100", 1)}, knows).seen.at(JobId(1)).model;
  };
  JobModel said;
  said.epochs_total = 30;
  said.target_loss = 0.4;
  EXPECT_EQ(*model(false), said);
  const auto known = model(true);
  EXPECT_EQ(known->epochs_total, 30);
  EXPECT_EQ(known->speed_curve.speed_on(2), 1.6);
  EXPECT_EQ(known->restart_cost, Duration::whole_seconds(7));
  ASSERT_EQ(known->speed_by_gpu_type.size(), 2U);
  EXPECT_EQ(known->speed_by_gpu_type[1].on_one_gpu, 0.25);
}

TEST(Blind, hides_the_speeds_of_relative_profiles_from_policies_only) {
  auto trace = trace::parse_trace(
      "job_id,submit_time_s,gpus,duration_s,gpus_min,gpus_max,profile\na,0,1,100,1,2,speedup:1|1.25\n", {});
  ASSERT_TRUE(trace.ok());
  const Finished done = watch(*trace, "elastic_fifo", {kind_of("", 2)}, false);
  EXPECT_FALSE(done.seen.at(JobId(1)).model->speed_curve.is_measured());
  EXPECT_EQ(done.finish_s(0), 80);
}

// Pairs keep 0.75 each: so two do 1.5 times the work of one, and more of them not more than that.
TEST(Sharing, more_than_two_trainings_on_a_gpu_do_as_much_work_as_two) {
  Cluster cluster;
  cluster.kinds = {kind_of("V100", 1)};
  SimulationSettings settings;
  settings.cluster = cluster;
  for (const int jobs : {2, 3, 4}) {
    std::string rows;
    for (int i = 0; i < jobs; ++i) rows += std::to_string(i) + ",0,1,300,cnn,0.5\n";
    const trace::Trace trace = cnn_trace(rows, ",gpu_share");
    auto policy = make_policy("fifo", {{"preset", "seed"}, {"settle_s", "0"}, {"theta", "100"}});
    const SimulationResult result = simulate(trace, std::move(*policy), settings);
    const study::Metrics metrics = study::measure(trace, result, cluster);
    const double alone_s = 20;  // the first, until the policy has seen what it uses
    EXPECT_NEAR(metrics.makespan_s, alone_s + (300 * jobs - alone_s) / 1.5, 1e-3) << jobs;
    EXPECT_LE(study::lower_bounds(trace, cluster).makespan_s, metrics.makespan_s + 1e-3) << jobs;
    if (jobs > 2) continue;
    EXPECT_NEAR(result.gpu_s_given, 2 * result.gpu_s_allocated - alone_s, 1e-3);
  }
}

}  // namespace
}  // namespace sl::sim
