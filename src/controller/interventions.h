// What users do to jobs that have been submitted and have not ended, besides cancelling and changing them: suspend,
// resume, migrate, scale; and signals, which are only passed on. Each of the others is first planned: what would happen,
// or why it cannot. Asking for the plan changes nothing.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "controller/interruption_costs.h"
#include "controller/submissions.h"
#include "wire/intervention.h"

namespace sl::controller {

// What an intervention would do.
struct Effect {
  std::string text;              // "stops at a checkpoint, then is held until it is resumed"
  std::optional<double> cost_s;  // time without progress, as far as it has been measured
};

class Interventions {
 public:
  using Done = std::function<void(Result<JobId>)>;
  Interventions(Core& core, JobBook& book, Agents& agents, const InterruptionCosts& costs,
                const Submissions& submissions, Recorder& recorder, Orders& orders, Engine& engine)
      : core_(core),
        book_(book),
        agents_(agents),
        costs_(costs),
        submissions_(submissions),
        recorder_(recorder),
        orders_(orders),
        engine_(engine) {}

  // Errors: "job-not-found", "job-finished", "job-cancelled", and those of each verb: interventions.cpp.
  Result<Effect> preview(JobId job, const wire::Intervention& wanted);
  // `done` is called once the request is durable, or with the refusal.
  void intervene(JobId job, const wire::Intervention& wanted, const std::string& by, Instant now, Done done);
  // Once it is durable, all processes of the job get the signal; what they do then is up to them. Errors:
  // "job-not-found", "job-finished", "job-not-running", "agent-too-old".
  void signal(JobId job, const std::string& signal, const std::string& by, Instant now, Done done);

 private:
  // What is to be fed to the core, and what it would do.
  struct Planned {
    Effect effect;
    std::vector<Event> events;
    std::string details;                // for the history
    std::optional<wire::JobSpec> spec;  // the job's submission from then on
  };
  struct Subject {
    JobEntry& entry;
    const Job& job;
  };
  Status may_signal(JobId job) const;
  void note_request(const std::string& verb, JobId job, const std::string& by, Instant now, std::string text);
  void refuse(const Error& error, Done done);
  Result<Planned> plan(JobId job, const wire::Intervention& wanted);
  Result<Planned> suspend(const Subject& subject) const;
  Result<Planned> resume(const Subject& subject) const;
  Result<Planned> migrate(const Subject& subject, const std::string& to) const;
  Result<Planned> scale(const Subject& subject, const wire::GpuRange& gpus) const;
  Result<Planned> resize(const Subject& subject, const wire::JobSpec& next) const;
  Status can_restart(const Subject& subject, const char* verb) const;
  Result<Allocation> place_on(const Job& job, const std::string& server) const;
  Result<Allocation> place_elsewhere(const Job& job) const;
  Result<Allocation> place_resized(const Job& job, int gpus) const;
  Effect restart_effect(const Subject& subject, const Allocation& gpus) const;
  std::string where(const Allocation& gpus) const;

  Core& core_;
  JobBook& book_;
  Agents& agents_;
  const InterruptionCosts& costs_;
  const Submissions& submissions_;
  Recorder& recorder_;
  Orders& orders_;
  Engine& engine_;
};

}  // namespace sl::controller
