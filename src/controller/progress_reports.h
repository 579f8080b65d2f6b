// What running jobs and their GPUs report: how far a training has come, its losses, its speed where it runs, how busy
// its GPUs are. The core receives a loss when an epoch has ended and a speed when a measuring window has ended
// (attempt_meter.h).
#pragma once

#include "controller/agents.h"
#include "controller/interruption_costs.h"
#include "controller/recorder.h"

namespace sl::controller {

class ProgressReports {
 public:
  ProgressReports(Core& core, JobBook& book, InterruptionCosts& costs, Recorder& recorder, Engine& engine)
      : core_(core), book_(book), costs_(costs), recorder_(recorder), engine_(engine) {}

  void on_progress(const std::string& server, const wire::Progress& progress, Instant now);
  // Also updates what is known about the agent's GPUs.
  void on_telemetry(Agent& agent, const wire::Telemetry& telemetry, Instant now);
  // A process of a job is on a GPU of the server that the job does not hold.
  void on_foreign_gpu_use(const std::string& server, const wire::ForeignGpuUse& use, Instant now);
  // What the server's agent says of its GPUs. Those that are new to be missing get an event.
  void on_gpus(const std::string& server, const std::vector<wire::GpuReport>& gpus, Instant now);

 private:
  void note_divergence(JobEntry& entry, const wire::Progress& progress, Instant now);
  void note_continuation(JobEntry& entry, const Job& job, Instant now);
  void note_gone(ServerIndex server, int gpu, Instant now);
  void sample_jobs(const Agent& agent, std::int64_t at_us, Instant now);
  void watch_gpu_memory(JobEntry& entry, const std::string& server, std::int64_t used, Instant now);
  void end_at_target(const JobEntry& entry, const Job& job, Instant now);
  void feed_measured(JobEntry& entry, AttemptProgressed event, std::int64_t at_us, Instant now);

  Core& core_;
  JobBook& book_;
  InterruptionCosts& costs_;
  Recorder& recorder_;
  Engine& engine_;
};

}  // namespace sl::controller
