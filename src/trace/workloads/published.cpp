// The workloads of the other works whose policies we have: Tetris, the small version of Gandiva, Coach and Lyapunov
// (policies.md 7, 8.2, 9.2 and 10.4, 11.5).
#include <algorithm>
#include <array>

#include "trace/numbers.h"
#include "trace/workloads/entry.h"
#include "trace/workloads/trace_builder.h"

namespace sl::trace {
namespace {

// Every task becomes a job on a GPU of its own; the Tetris job it belongs to becomes its user and its family.
Result<Trace> make_tetris(const std::string&, const Parameters& p, Random random) {
  const int tasks = p.integer("tasks");
  TraceBuilder builder(static_cast<std::size_t>(p.integer("jobs")) * static_cast<std::size_t>(tasks));
  for (int j = 1; j <= p.integer("jobs"); ++j) {
    TraceDetails details;
    details.family = "job" + std::to_string(j);
    details.demand[Resource::cpu] = static_cast<double>(random.integer(1, 8));
    details.demand[Resource::memory] = static_cast<double>(random.integer(1, 32)) * gibibyte;
    details.demand[Resource::disk] = static_cast<double>(random.integer(1, 1500)) * gibibyte;
    details.demand[Resource::network] = static_cast<double>(random.integer(1, 2)) * 1e9;
    const Duration submitted = Duration::whole_seconds(random.integer(0, p.integer("window_s")));
    const std::uint32_t user = builder.add_user(details.family), shared = builder.add_details(std::move(details));
    for (int t = 0; t < tasks; ++t) {
      TraceJob& job = builder.add(submitted, Duration::seconds(p.number("task_s")), 1);
      job.user = user;
      job.details = shared;
    }
  }
  return builder.finish();
}

WorkloadEntry tetris() {
  return {{"tetris",
           "Tetris",
           "40 jobs of 30 tasks with CPU, memory, disk and network demands, for 20 servers of 16 cores (20x16).",
           {whole_parameter("jobs", "", "40", 1, 100'000, "number of jobs"),
            whole_parameter("tasks", "", "30", 1, 1000, "tasks per job; each becomes a job of one GPU"),
            real_parameter("task_s", "s", "260", 1, 1e6, "duration of a task"),
            whole_parameter("window_s", "s", "3000", 0, 1e8, "jobs arrive at any second of this window")}},
          make_tetris};
}

struct Network {
  const char* name;
  int epochs_min, epochs_max;
};
constexpr Network networks[] = {{"alexnet", 25, 30}, {"seq2seq", 15, 20}, {"transformer", 15, 20}, {"lstm", 10, 15}};

Result<Trace> make_gandiva(const std::string&, const Parameters& p, Random random) {
  std::vector<TraceDetails> jobs;
  for (const Network& network : networks) {
    for (int i = 0; i < p.integer("of_each"); ++i) {
      auto model = std::make_shared<JobModel>();
      model->epochs_total = static_cast<int>(random.integer(network.epochs_min, network.epochs_max));
      TraceDetails& details = jobs.emplace_back();
      details.family = network.name;
      details.model = std::move(model);
    }
  }
  for (std::size_t i = jobs.size(); i > 1; --i)
    std::swap(jobs[i - 1], jobs[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(i) - 1))]);
  TraceBuilder builder(jobs.size());
  const Duration epoch = Duration::seconds(p.number("epoch_s"));
  for (TraceDetails& details : jobs) {
    const Duration duration = epoch * *details.model->epochs_total;
    builder.add(Duration{0}, duration, 1).details = builder.add_details(std::move(details));
  }
  return builder.finish();
}

WorkloadEntry gandiva() {
  return {{"gandiva",
           "Gandiva, small",
           "AlexNet, seq2seq, transformer and LSTM trainings, shuffled, all at once, for 2 servers of 1 GPU.",
           {whole_parameter("of_each", "", "3", 1, 100'000, "jobs of each of the four networks"),
            real_parameter("epoch_s", "s", "49", 0.001, 1e6,
                           "length of an epoch of every network: AlexNet's at batch size 128")}},
          make_gandiva};
}

// Coach's f(w, p) = -b1 (w - b2)^2 - b3 (p - b4)^2 + b5 with the figures of the example in policies.md 10.4: progress
// grows up to four workers.
double coach_speed(int workers, int servers) {
  return -0.01 * (workers - 4) * (workers - 4) - 0.02 * (servers - 2) * (servers - 2) + 0.5;
}

std::shared_ptr<const JobModel> coach_model(int workers, int servers, int epochs) {
  auto model = std::make_shared<JobModel>();
  model->mode = TrainingMode::parameter_server_sync;
  model->epochs_total = epochs;
  std::vector<double> speeds;
  for (int w = 1; w <= 4; ++w) speeds.push_back(coach_speed(w, servers) / coach_speed(1, servers));
  model->speed_curve = SpeedCurve(std::move(speeds));
  model->roles = {{"scheduler", 1, 1, 0, {}}, {"server", servers, servers, 0, {}}, {"worker", 1, workers, 1, {}}};
  return model;
}

Result<Trace> make_coach(const std::string&, const Parameters& p, Random random) {
  const int workers = p.integer("workers");
  TraceBuilder builder(static_cast<std::size_t>(p.integer("jobs")));
  for (int i = 0; i < p.integer("jobs"); ++i) {
    const auto epochs = static_cast<int>(
        random.integer(p.integer("epochs_min"), std::max(p.integer("epochs_min"), p.integer("epochs_max"))));
    TraceDetails details;
    details.family = "parameter-server";
    details.gpus_min = 1;
    details.gpus_max = 4;
    details.model = coach_model(workers, p.integer("servers"), epochs);
    const Duration duration = Duration::seconds(epochs / coach_speed(workers, p.integer("servers")));
    builder.add(Duration::seconds(p.number("interval_s")) * i, duration, workers).details =
        builder.add_details(std::move(details));
  }
  return builder.finish();
}

WorkloadEntry coach() {
  return {{"coach",
           "Coach",
           "Trainings with a scheduler, parameter servers and 1 to 4 workers.",
           {whole_parameter("jobs", "", "3", 1, 100'000, "number of jobs"),
            whole_parameter("workers", "GPUs", "2", 1, 4, "workers that each job asks for, one GPU each"),
            whole_parameter("servers", "", "1", 1, 4, "parameter servers per job; they hold no GPU"),
            whole_parameter("epochs_min", "", "400", 1, 1e6, "smallest number of epochs of a job"),
            whole_parameter("epochs_max", "", "600", 1, 1e6, "largest number of epochs of a job"),
            real_parameter("interval_s", "s", "0", 0, 1e6, "time between two jobs")}},
          make_coach};
}

constexpr int lyapunov_gpus = 8, lyapunov_steps = 500, lyapunov_batch = 128;

// Ring all-reduce of policies.md 11.2: computing time shrinks with more GPUs, communication time grows.
std::shared_ptr<const JobModel> lyapunov_model(double length_s, double bytes, double bytes_per_s) {
  auto model = std::make_shared<JobModel>();
  model->steps_total = lyapunov_steps;
  model->batch_size = lyapunov_batch;
  model->step_time_fixed_s = 0;
  model->step_time_per_sample_s = length_s / lyapunov_steps / lyapunov_batch;
  model->parameter_bytes = static_cast<std::int64_t>(bytes);
  std::vector<double> run_time_s;
  for (int g = 1; g <= lyapunov_gpus; ++g) {
    const double communicating = lyapunov_steps * 2.0 * (g - 1) / g * bytes / bytes_per_s;
    run_time_s.push_back(length_s / g + communicating);
  }
  model->speed_curve = SpeedCurve::from_run_times(run_time_s);
  return model;
}

Result<Trace> make_lyapunov(const std::string&, const Parameters& p, Random random) {
  constexpr std::array<double, 4> megabytes = {20, 100, 250, 550};
  const double small_part = p.text("mostly") == "small" ? 0.8 : 0.2;
  TraceBuilder builder(static_cast<std::size_t>(p.integer("jobs")));
  double total_s = 0;
  for (int i = 0; i < p.integer("jobs"); ++i) {
    const bool small = random.chance(small_part);
    const auto length_s = static_cast<double>(small ? random.integer(60, 600) : random.integer(3600, 14400));
    const double bytes = 1e6 * megabytes[static_cast<std::size_t>(random.integer(0, 3))];
    TraceDetails details;
    details.family = small ? "small" : "large";
    details.gpus_min = 1;
    details.gpus_max = lyapunov_gpus;
    details.model = lyapunov_model(length_s, bytes, p.number("bandwidth_gb_s") * 1e9);
    builder.add(Duration{0}, Duration::seconds(length_s), 1).details = builder.add_details(std::move(details));
    total_s += length_s;
  }
  const double window_s = total_s / p.integer("cluster_gpus") * (p.text("arrivals") == "scattered" ? 1 : 0.05);
  for (TraceJob& job : builder.jobs()) job.submitted = Instant{Duration::seconds(random.uniform(0, window_s)).us};
  return builder.finish();
}

WorkloadEntry lyapunov() {
  return {{"lyapunov",
           "Lyapunov groups",
           "100 data-parallel trainings, mostly small or mostly large, scattered or all at once; 1 to 8 GPUs each.",
           {whole_parameter("jobs", "", "100", 1, 100'000, "number of jobs"),
            choice_parameter("mostly", {"small", "large"},
                             "80 % of the jobs take 1 to 10 minutes (small) or 1 to 4 hours (large)"),
            choice_parameter("arrivals", {"scattered", "concentrated"},
                             "over all the time the cluster needs for them, or over 5 % of it"),
            whole_parameter("cluster_gpus", "GPUs", "8", 1, 1e6, "size of the cluster they are submitted to"),
            real_parameter("bandwidth_gb_s", "GB/s", "1.25", 0.001, 1e4, "between GPUs")}},
          make_lyapunov};
}

}  // namespace

std::vector<WorkloadEntry> published_workloads() { return {tetris(), gandiva(), coach(), lyapunov()}; }

}  // namespace sl::trace
