// Explains in words why a job waits, runs where it does, or was rejected.
#pragma once

#include <boost/json.hpp>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "controller/answers.h"
#include "controller/logic.h"

namespace sl::controller {

// The order in which the policy serves the jobs that wait, as it is when it is first asked for. Unknown under a user's
// own policy, which alone knows, and when more than `most` jobs wait: ordering them takes time. Jobs without GPUs stand in
// a line of their own, which is the same under every policy.
class Line {
 public:
  Line(const Logic& logic, Instant now, std::size_t most = 20'000) : logic_(logic), now_(now), most_(most) {}
  // Of a group these are about the first of its members that stands in line.
  std::size_t position(JobId job) const;  // from 1; 0: unknown
  std::optional<answers::Ahead> ahead(JobId job) const;
  std::size_t count(JobId group) const;      // of its members that stand in line
  std::size_t length(const Job& job) const;  // of the line of those with GPUs, or without; also when it is unknown
  JobId first(const Job& job) const;         // of the same; none: unknown
  const std::vector<JobId>& order() const;   // of those with GPUs; empty: unknown

 private:
  struct Place {
    std::size_t position = 0;
    std::int64_t gpus_ahead = 0;
    std::size_t count = 0;
  };
  const Place* find(JobId job) const;
  void add(const std::vector<JobIndex>& jobs, std::vector<JobId>& order) const;
  const Logic& logic_;
  Instant now_;
  std::size_t most_;
  mutable std::optional<std::vector<JobId>> order_;
  mutable std::vector<JobId> order_without_gpus_;
  mutable std::unordered_map<std::int64_t, Place> places_;  // by job and by group
};

// Why a job waits, in one sentence: the same in every answer. `line` null: without the job's place in it.
std::string reason_text(const Logic& logic, const Job& job, ReasonCode reason, const Line* line, Instant now);
// The same for a member of a group that has not come up.
std::string to_come_text(const Logic& logic, JobId member, const Line& line, Instant now);
// What a job that has GPUs waits for: a server that is down, its image, its checkpoint, or, while it is moving, to
// continue elsewhere.
std::optional<answers::Reason> awaited_by(const Logic& logic, const JobEntry& entry, const Job& job);
// "2 GPUs"
std::string gpus_text(int count);
// "a, b"
std::string servers_of(const Core& core, const Allocation& gpus);
// Completes "rejected by the policy: ".
const char* rejection_text(ReasonCode reason);
// The document of GET /jobs/{id}/explain (docs/guide/rest.md), without suggestions.
answers::Explanation explain_view(const Logic& logic, const JobEntry& entry, Instant now);

}  // namespace sl::controller
