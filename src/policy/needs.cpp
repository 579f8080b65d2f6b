#include "policy/needs.h"

#include "base/check.h"

namespace sl {
namespace {

struct FactText {
  const char* name;     // "deadlines"
  const char* missing;  // "12 of 12 jobs have no deadline"
  const char* missing_one;
};

FactText text_of(Fact fact) {
  switch (fact) {
    case Fact::none:
      return {"", "", ""};
    case Fact::deadline:
      return {"deadlines", "have no deadline", "has no deadline"};
    case Fact::run_time:
      return {"run time estimates or limits", "have neither estimate nor time limit",
              "has neither estimate nor time limit"};
    case Fact::speedup:
      return {"speedups", "have no known speedup", "has no known speedup"};
    case Fact::checkpoint:
      return {"jobs that can stop at a checkpoint", "cannot stop at a checkpoint", "cannot stop at a checkpoint"};
    case Fact::resizable:
      return {"jobs that can be resized (a range of GPUs, and a checkpoint)", "cannot be resized", "cannot be resized"};
    case Fact::suspendable:
      return {"jobs that can be suspended", "cannot be suspended", "cannot be suspended"};
    case Fact::choice_of_gpus:
      return {"jobs that accept several numbers of GPUs", "accept one number of GPUs only",
              "accepts one number of GPUs only"};
    case Fact::priority:
      return {"priorities", "have no priority of their own", "has no priority of its own"};
    case Fact::demand:
      return {"the CPU and memory that jobs need", "do not say how much CPU or memory they need",
              "does not say how much CPU or memory it needs"};
    case Fact::sharing:
      return {"jobs that may share GPUs", "may not share GPUs", "may not share GPUs"};
    case Fact::target_loss:
      return {"losses by epoch and a target loss", "have no target loss", "has no target loss"};
    case Fact::budget:
      return {"budgets", "have no budget", "has no budget"};
  }
  return {"", "", ""};
}

}  // namespace

std::string to_string(const Need& need) {
  std::string text = need.what.empty() ? text_of(need.fact).name : need.what;
  if (!need.otherwise.empty()) text += " (else " + need.otherwise + ")";
  return text;
}

bool has_fact(const JobRequest& job, Fact fact) {
  const JobModel* model = job.model.get();
  switch (fact) {
    case Fact::none:
      return true;
    case Fact::deadline:
      return !job.deadline.is_never();
    case Fact::run_time:
      return job.estimate || job.time_limit;
    case Fact::speedup:
      return job.gpus_max == 1 || job.speed_curve().is_measured();
    case Fact::checkpoint:
      return job.capability == Capability::checkpoint && job.preemptible;
    case Fact::resizable:
      return job.is_elastic() && job.capability == Capability::checkpoint;
    case Fact::suspendable:
      return job.capability != Capability::none && job.preemptible;
    case Fact::choice_of_gpus:
      return job.is_elastic();
    case Fact::priority:
      return job.priority != 0;
    case Fact::demand:
      return !job.demand.is_zero();
    case Fact::sharing:
      return job.shareable;
    case Fact::target_loss:
      return model && model->target_loss;
    case Fact::budget:
      return model && model->budget;
  }
  return true;
}

void MissingFacts::count(const JobRequest& job, std::size_t jobs) {
  jobs_ += jobs;
  for (std::size_t fact = 0; fact < fact_count; ++fact)
    missing_[fact] += has_fact(job, static_cast<Fact>(fact)) ? 0 : jobs;
}

std::vector<std::string> MissingFacts::sentences(std::span<const Need> needs, const std::string& kind) const {
  std::vector<std::string> all;
  for (const Need& need : needs) {
    const std::size_t missing = missing_[static_cast<std::size_t>(need.fact)];
    if (missing == 0 || need.otherwise.empty()) continue;
    const FactText text = text_of(need.fact);
    all.push_back(std::to_string(missing) + " of " + std::to_string(jobs_) + " " + kind +
                  (jobs_ == 1 ? " job " : " jobs ") + (missing == 1 ? text.missing_one : text.missing) + ": " +
                  need.otherwise);
  }
  return all;
}

}  // namespace sl
