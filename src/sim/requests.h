// What a job of a trace asks for, as policies see it.
#pragma once

#include <map>
#include <unordered_set>

#include "core/core.h"
#include "model/names.h"
#include "policy/needs.h"
#include "policy/satisfiable.h"
#include "sim/cluster.h"
#include "trace/trace.h"

namespace sl::sim {

// The requests of a trace's jobs without what a core interns (id, user, family, GPU types) and without their models.
class Requests {
 public:
  Requests(const trace::Trace& trace, const Cluster& cluster);  // both must outlive it
  JobRequest of(const trace::TraceJob& job) const;

 private:
  int widest_for(const trace::TraceDetails& details, const std::vector<ServerDescription>& servers) const;

  const trace::Trace& trace_;
  const Cluster& cluster_;
  std::vector<int> widest_;  // GPUs of the largest server that a job may use, by its details
};

// Jobs of a trace have the numbers of their places, from 1. An array is submitted as a group (core/groups.h), whose own number
// is beyond those of all jobs.
inline JobId group_of(const trace::Trace& trace, std::size_t first) {
  return JobId(static_cast<std::int64_t>(trace.jobs.size() + first) + 1);
}
// The place of the job in the trace; of a group that of its first job.
inline std::size_t place_of(const trace::Trace& trace, JobId id) {
  return static_cast<std::size_t>(id.value - 1) % trace.jobs.size();
}

// Which jobs of a trace must have succeeded before others start.
class Prerequisite {
 public:
  explicit Prerequisite(const trace::Trace& trace);
  std::shared_ptr<const Prerequisites> of(const trace::TraceJob& job) const;  // null: none
  // A job or a group has failed or was turned away.
  void note_failure(JobId id) {
    if (!jobs_.empty()) failed_.insert(id);
  }
  // Whether one that must have succeeded has ended otherwise, so that the core, which fails jobs that wait for it as it ends,
  // would let this one start.
  bool is_missed(const trace::TraceJob& job, const Core& core) const;

 private:
  const trace::Trace& trace_;
  std::map<std::string_view, JobId> jobs_;  // and groups, that others wait for
  std::unordered_set<JobId> failed_;        // if there are any of those
};

// Sets what follows from the model's roles: what all members need, and that they may be on several servers: they talk over
// the network anyway. Does nothing without roles that need more than GPUs. A pool is a number of GPUs: there, jobs need
// nothing else.
void set_demand(JobRequest& request, const Cluster& cluster);

// What policies are told about the trainings of a trace: what users state and, with `measurements`, what was measured.
// Jobs that are told the same share one model.
class ToldModels {
 public:
  explicit ToldModels(bool measurements) : measurements_(measurements) {}
  std::shared_ptr<const JobModel> of(const trace::TraceDetails& details, Names<GpuTypeIndex>& gpu_types);

 private:
  bool measurements_;
  std::map<std::pair<const JobModel*, const wire::TrainingProfile*>, std::shared_ptr<const JobModel>> known_;
};

// Jobs of a trace that this cluster can never run, however few GPUs they get.
struct Impossible {
  std::int64_t jobs = 0;
  std::string first;  // its id in the trace
  Verdict why;        // of the first
};
// Takes them out of the trace. By what they lack; empty: every job can run.
std::map<Lack, Impossible> leave_out_impossible(trace::Trace& trace, const Cluster& cluster);

// Facts about the jobs that policies need and the trace does not state. With `knows_durations` every run time counts as
// stated.
MissingFacts missing_facts(const trace::Trace& trace, const Cluster& cluster, bool knows_durations);

}  // namespace sl::sim
